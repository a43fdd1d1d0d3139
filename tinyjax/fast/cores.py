"""Exchange cores between the work-items of one kernel when another process uses one of the cores.

It saves, while another process keeps one of two cores busy: an n-body simulation takes 7 ms instead of 11,
the gradient of an LSTM of 100 steps 7 instead of 12, and a training step of a CNN 2.2 instead of 2.5.

Each of the driver's threads is pinned to its own core (runtime/pocl/threads.py). A thread that loses its core
during a step gets it back up to four milliseconds later, and until then all others wait. So:

- A helper often yields its core to other processes while it holds no work.
- A helper that waits for a suspended leader exchanges cores with it.
- A leader that has finished gives its core to a suspended helper, so that the helper can leave. The helper
  then gives its core to the leader, whose thread sleeps. The leader first waits up to 40 us for a helper to
  leave: one that still runs would lose its core. It waits longer if the helper ends a part of the work.

OpenCL has no functions for this, so this C code calls Linux directly on x86-64. On other systems no cores
are exchanged, and a leader waits until its helpers leave.

Source: https://man7.org/linux/man-pages/man2/sched_setaffinity.2.html, sched_yield.2 and clock_gettime.2
"""

from tinyjax.compile.codegen.helpers import Helper

RUNNING_NS = 5_000  # a thread that runs has run for longer between two looks at it

PAUSE = Helper(
    "tj_pause",
    """\
void tj_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
""",
)
CALL_LINUX = Helper(
    "tj_call_linux",
    """\
#if defined(__x86_64__) && defined(__linux__)
#define TJ_LINUX
long tj_call_linux(long number, long a, long b, long c) {
  __asm__ __volatile__("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return number;
}
#endif
""",
)
CLOCK = Helper(
    "tj_clock",
    """\
uint tj_clock(void) {
#ifdef TJ_LINUX
  return __builtin_readcyclecounter();
#endif
  return 0;
}
""",
    (CALL_LINUX,),
)
THREAD = Helper(
    "tj_thread",
    """\
int tj_thread(void) {
#ifdef TJ_LINUX
  return tj_call_linux(186, 0, 0, 0);  // gettid
#endif
  return 1;  // not 0, which is a thread whose core the leader has taken
}
""",
    (CALL_LINUX,),
)
YIELD = Helper(
    "tj_yield",
    """\
void tj_yield(void) {
#ifdef TJ_LINUX
  tj_call_linux(24, 0, 0, 0);  // sched_yield
#endif
}
""",
    (CALL_LINUX,),
)
PULL = Helper(
    "tj_pull",
    """\
void tj_set_cores(int thread, __global volatile int *cores) {
#ifdef TJ_LINUX
  tj_call_linux(203, thread, 128, (long)cores);  // sched_setaffinity
#endif
}
void tj_pull(int thread, __global volatile int *cores) {
#ifdef TJ_LINUX
  long own[16];
  tj_call_linux(204, thread, sizeof(own), (long)cores);  // sched_getaffinity
  tj_call_linux(204, 0, sizeof(own), (long)own);
  tj_call_linux(203, thread, sizeof(own), (long)own);
#endif
}
""",
    (CALL_LINUX,),
)
STUCK = Helper(
    "tj_is_stuck",
    f"""\
int tj_is_stuck(int thread, ulong *ran) {{
#ifdef TJ_LINUX
  ulong time[2];  // that the thread has run: seconds, nanoseconds
  if (tj_call_linux(228, ~(long)thread << 3 | 6, (long)time, 0)) return 0;  // clock_gettime
  const ulong before = *ran;
  *ran = time[0] * 1000000000 + time[1];
  return *ran - before < {RUNNING_NS};
#endif
  return 0;
}}
""",
    (CALL_LINUX,),
)
