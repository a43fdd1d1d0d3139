from tinyjax.compile.record import event, is_recording, recording, run_pass


def halved(number):
    event(number, f"becomes {number // 2}", "half is enough")
    return number // 2


def test_a_pass_is_recorded_with_what_was_before_and_after_it():
    with recording() as records:
        assert run_pass("halve", halved, 8, subject="k0") == 4
    (record,) = records
    assert (record.title, record.before, record.after) == ("halve of k0", 8, 4)
    assert [str(e) for e in record.events] == ["8: becomes 4  # half is enough"]


def test_nothing_is_recorded_outside_of_the_block():
    with recording() as records:
        assert is_recording()
    assert run_pass("halve", halved, 8) == 4
    assert not records and not is_recording()


def test_an_event_belongs_to_the_innermost_pass():
    def both(number):
        return run_pass("inner", halved, number)

    with recording() as records:
        run_pass("outer", both, 8)
    assert [(r.name, len(r.events)) for r in records] == [("outer", 0), ("inner", 1)]
