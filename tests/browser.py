"""Chromium without a window, for tests of pages; pytest skips where there is none."""

import shutil
from contextlib import contextmanager

import pytest

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()


@contextmanager
def chromium(profile):
    """A browser that Selenium drives; its profile is written into the folder `profile`."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not (program and driver):
        pytest.skip("there is no Chromium with its ChromeDriver (apt install chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in [*FLAGS, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(service=webdriver.ChromeService(driver), options=options)
    browser.set_script_timeout(120)  # on a busy machine 30 seconds can be too few
    try:
        yield browser
    finally:
        browser.quit()


def resize(browser, width, height, scheme="light"):
    """The size of the page's own area, and whether the reader wishes it light or dark."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    wishes = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wishes})


def messages(browser):
    """What has been written to the console: errors, blocked loads."""
    return [entry["message"] for entry in browser.get_log("browser")]
