"""Who waits for whom, without processes."""

from tinyjax.many_devices.distributed.whereabouts import Waiting, Whereabouts, circle


def at(ranks, number=1, **before):
    return Whereabouts(Waiting("psum", ranks, number), {ranks: number})


ON_THE_WAY = Whereabouts(None, {})


def test_processes_that_wait_for_each_other_are_found():
    where = [at((0, 1)), at((1, 2)), at((0, 2))]
    assert sorted(circle(0, where.__getitem__)) == [0, 1, 2]


def test_who_is_on_the_way_is_waited_for():
    where = [at((0, 1)), at((1, 2)), ON_THE_WAY]
    assert circle(0, where.__getitem__) is None


def test_who_has_left_the_same_meeting_already_is_not_waited_for():
    where = [
        at((0, 1)),
        Whereabouts(Waiting("psum", (1, 2), 1), {(0, 1): 1, (1, 2): 1}),
        at((0, 2)),
    ]
    assert circle(0, where.__getitem__) is None


def test_who_does_not_answer_is_waited_for():
    where = [at((0, 1)), None]
    assert circle(0, where.__getitem__) is None


def test_who_only_waits_for_such_processes_lets_them_speak():
    where = [at((0, 1)), at((1, 2)), at((1, 2, 3)), ON_THE_WAY]
    assert circle(0, where.__getitem__) is None
    assert sorted(circle(1, where.__getitem__)) == [1, 2]


def test_a_process_that_moves_meanwhile_is_not_stuck():
    asked = []

    def ask(process):
        asked.append(process)
        return at((0, 1), len(asked)) if process == 0 else at((1, 2))

    assert circle(0, ask) is None
