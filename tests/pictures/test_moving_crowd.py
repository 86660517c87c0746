"""A stall and those who wait for it: one by hand, and one that the load testers of the engine met."""

from ironlaw.engine.serving.load_testers import Stalls, closed_loop, open_loop
from ironlaw.pictures.moving.crowd import DOTS, crowd
from ironlaw.widget.motion import Counter, Place, Token

STALL = (9.0, 10.0)


def asked(test, until=18.0):
    return [(at, took) for at, took in zip(test.sent, test.seconds, strict=True) if at < until]


def made(rate=100.0, service=1e-3, connections=1):
    stalls = Stalls(1.0, 10.0, 9.0)
    return crowd(
        asked(open_loop(rate, service, stalls, round(20 * rate))),
        asked(closed_loop(rate, service, stalls, round(20 * rate), connections)),
        STALL,
        2 * service,
    )


def dots(motion, colour):
    return [thing for thing in motion.things if isinstance(thing, Token) and thing.colour == colour]


def test_a_hundred_users_wait_and_the_tester_once():
    """A hundred a second come in a second of standing still; at 1 ms each, those who come while the line shrinks wait, too: 100 / 0.9."""
    motion = made()
    assert len(dots(motion, "accent")) in (111, 112) and len(dots(motion, "ink")) == 1
    assert motion.title.startswith(f"{len(dots(motion, 'accent'))} users wait") and "sends 1 into it" in motion.title and not motion.note
    waiting = next(thing for thing in motion.things if isinstance(thing, Counter))
    assert max(value for _, value in waiting.points) in (100, 101) and waiting.points[-1][1] == 0


def test_each_dot_is_there_from_the_question_to_the_answer():
    users = [(9.2, 0.9), (9.6, 0.6), (11.0, 0.001)]
    motion = crowd(users, [(9.2, 0.9)], STALL, 0.01)
    begin = 9.0 - 0.15
    assert [(round(dot.path[0][0] + begin, 6), round(dot.path[-1][0] + begin, 6)) for dot in dots(motion, "accent")] == [
        (9.2, 10.1),
        (9.6, 10.2),
    ]
    server = next(thing for thing in motion.things if isinstance(thing, Place))
    assert [round(at + begin, 6) for at in server.spans[0]] == [9.0, 10.0]


def test_where_thousands_wait_a_dot_is_several():
    motion = made(rate=900.0, service=1e-4)
    assert (
        len(dots(motion, "accent")) <= DOTS
        and "a dot is " in motion.note
        and int(motion.title.split(" users")[0].replace(",", "")) in range(985, 995)
    )  # 900 / 0.91
