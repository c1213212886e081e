"""The page of a run, in a browser: what it shows is what was recorded, and its controls work."""

from collections.abc import Callable
from importlib import resources

import numpy as np
import polars as pl
import pytest

from sandglass.results.view import thinning
from tests.lab.experiments import Run
from tests.view.browser import Browser
from tests.view.conftest import Open

pytestmark = pytest.mark.lab
NS = 1_000_000_000
SHIFT = 8


def place(browser: Browser, panel: str, part: float) -> tuple[float, float]:
    """Where on the screen that part of a panel's axis of time is, once scrolled there."""
    browser.run(f"document.getElementById('{panel}').scrollIntoView({{block: 'center'}})")
    browser.until(f"all.some(({{id, drawn}}) => id === '{panel}' && drawn)")
    browser.settle()
    left, width, y = browser.run(
        f"(() => {{ const p = all.find(({{id}}) => id === '{panel}');"
        " const b = p.canvas.getBoundingClientRect();"
        " return [b.left + LEFT, p.width, b.top + b.height / 2]; })()"
    )
    return left + part * width, y


def point(browser: Browser, panel: str, part: float) -> int:
    """Put the cursor there; gives its time in ns."""
    x, y = place(browser, panel, part)
    browser.mouse("mouseMoved", 1, 1)
    browser.until("state.cursor === null")
    browser.mouse("mouseMoved", x, y)
    browser.until("document.getElementById('cursor').dataset.ns !== ''")
    return int(float(browser.run("document.getElementById('cursor').dataset.ns")))


def readings(browser: Browser, panel: str, measure: int = 0) -> dict[str, float]:
    """What stands beside a panel, by flow; without what is hidden or has no value.

    `measure`: which one of the panel's, such as drops and marks.
    """
    rows = browser.run(
        f"[...document.querySelectorAll('#{panel} .readings li:not([hidden])')].map(row =>"
        " [row.querySelector('span').textContent,"
        f" row.querySelectorAll('.value')[{measure}].textContent])"
    )
    return {
        name: float(value.replace("\u2009", "").replace("\u2212", "-").removesuffix(" %"))
        for name, value in rows
        if value != "\u2013"
    }


def inked(browser: Browser, panel: str, *times_ns: float) -> list[float]:
    """How many pixels above the foot of a panel's axis its only line is at each of the times."""
    found: list[float] = browser.run(
        f"(p => {list(times_ns)}.map(t => {{ const h = TOP + p.height;"
        " const ink = p.context.getImageData(pixelOf(p, t), 0, 1, h).data;"
        " const rows = [...Array(h).keys()].filter(y => ink[4 * y + 3] > 30 && ink[4 * y] < 200);"
        " return h - (rows[0] + rows.at(-1) + 1) / 2; }))"
        f"(all.find(({{id}}) => id === '{panel}'))"
    )
    return found


def view(browser: Browser) -> tuple[float, float]:
    """What is in view, in ns."""
    begin, end = browser.run("[state.from, state.to]")
    return begin, end


def test_what_a_program_tells_is_a_panel_of_its_flow(opened: Open) -> None:
    browser = opened("telling")
    for part, value in ((0.25, 3), (0.75, -1.5)):
        point(browser, "flows-mine-n", part)
        assert readings(browser, "flows-mine-n") == {"1: s1 → d1 command": value}


def test_readings_at_the_cursor_are_the_records(opened: Open, run_of: Callable[[str], Run]) -> None:
    """In the whole run to four digits, and of single packets all digits."""
    browser, run = opened("two"), run_of("two")
    packets = run.packets(flow=1).filter(pl.col("dequeue_ns").is_not_null())
    acks = run.table("acks").filter(flow=1)

    def nearest(at: int) -> int:
        waited: int = packets.sort((pl.col("dequeue_ns") - at).abs())["sojourn_ns"][0]
        return waited

    for part in (0.2, 0.5, 0.9):
        at = point(browser, "bottleneck-forward-queueing-delay", part)
        waited = nearest(at) / 1e6
        found = readings(browser, "bottleneck-forward-queueing-delay")["1: s1 → d1 cubic"]
        assert found == pytest.approx(waited, rel=1e-3)
        at = point(browser, "flows-congestion-window", part)
        window = acks.filter(pl.col("time_ns") <= at)["cwnd_packets"][-1]
        assert readings(browser, "flows-congestion-window")["1: s1 → d1 cubic"] == window
    browser.run(f"show({2 * NS}, {2 * NS + NS // 20})")
    left = packets.filter(pl.col("dequeue_ns") > 2.02 * NS)["dequeue_ns"][0]
    at = point(browser, "bottleneck-forward-queueing-delay", (left - 2 * NS) / (NS // 20))
    waited = nearest(at) / 1e6
    found = readings(browser, "bottleneck-forward-queueing-delay")["1: s1 → d1 cubic"]
    assert found == waited
    assert browser.complaints() == []


def test_a_point_is_read_where_it_is_and_not_ever_after(
    opened: Open, run_of: Callable[[str], Run]
) -> None:
    browser, run = opened("two"), run_of("two")
    panel = "flows-round-trips-of-pings"
    ping = run.table("rtt").row(4, named=True)
    point(browser, panel, ping["sent_ns"] / (6 * NS))
    (read,) = readings(browser, panel).values()
    assert read == pytest.approx(ping["rtt_ns"] / 1e6)
    point(browser, panel, (ping["sent_ns"] + 0.25 * NS) / (6 * NS))
    assert readings(browser, panel) == {}
    panel = "bottleneck-forward-queueing-delay"
    last = run.packets(flow=2)["dequeue_ns"].max()
    assert isinstance(last, int)
    point(browser, panel, (last + 0.5 * NS) / (6 * NS))
    assert "2: s2 → d2 reno" not in readings(browser, panel)
    assert "1: s1 → d1 cubic" in readings(browser, panel)


def test_rates_and_events_are_counted_in_the_interval_at_the_cursor(
    opened: Open, run_of: Callable[[str], Run]
) -> None:
    browser, run = opened("two"), run_of("two")
    panel = "bottleneck-forward-rate-by-flow"
    at = point(browser, panel, 0.4)
    length = browser.run(f"interval(all.find(({{id}}) => id === '{panel}'))")
    begin = at // length * length
    here = run.packets(flow=1).filter(
        pl.col("dequeue_ns").is_between(begin, begin + length, closed="left")
    )
    rate = float(here["size_bytes"].sum()) * 8e3 / length
    assert readings(browser, panel)["1: s1 → d1 cubic"] == pytest.approx(rate, rel=1e-3)


def test_what_a_link_could_carry_stands_beside_what_it_did(
    opened: Open, run_of: Callable[[str], Run]
) -> None:
    """Of a rate that changes, from the very moment on; of a trace, in the same intervals."""
    browser = opened("changing")
    browser.run("state.wayOff.clear(); relook()")
    panel = "bottleneck-reverse-rate-by-flow"
    for part, rate in ((0.3, 5), (0.8, 2)):
        point(browser, panel, part)
        capacity, *carried = readings(browser, panel).values()
        assert capacity == rate
        assert sum(carried) == pytest.approx(rate, rel=0.1)  # of some eight packets
    # In the middle of an interval.
    browser.run(f"show({0.931 * NS}, {1.053 * NS}); state.flowsOff.add(2); relook()")
    place(browser, panel, 0.5)
    before, after = inked(browser, panel, 1.001 * NS, 1.005 * NS)
    assert after == pytest.approx(before * 2 / 5, abs=1)
    browser.run("state.flowsOff.delete(2); relook(); showAll()")
    panel = "bottleneck-forward-rate-by-flow"
    place(browser, panel, 0.5)
    capacity, used = readings(browser, panel).values()
    assert capacity == pytest.approx(used * 1500 / 1514, rel=0.02)


def test_a_capacity_far_above_the_rates_does_not_flatten_them(opened: Open) -> None:
    """It is read all the same, and stands on a logarithmic axis."""
    browser = opened("two")
    browser.run("state.wayOff.clear(); relook()")
    about = "document.querySelector('#{} h3').textContent"
    place(browser, forward := "bottleneck-forward-rate-by-flow", 0.5)
    assert "capacity: thin" in browser.run(about.format(forward))
    place(browser, panel := "bottleneck-reverse-rate-by-flow", 0.5)
    found = f"all.find(({{id}}) => id === '{panel}')"
    assert "capacity: above the axis" in browser.run(about.format(panel))
    assert browser.run(f"{found}.scale(10)") < 0
    assert readings(browser, panel)["capacity"] == 10
    browser.run(f"document.querySelector('#{panel} button.axis').click()")
    browser.settle()
    assert "capacity: thin" in browser.run(about.format(panel))
    assert browser.run(f"{found}.scale(10)") > 0


def test_gauges_of_each_run_s_queue_are_read_as_they_were_sampled(
    opened: Open, run_of: Callable[[str], Run]
) -> None:
    browser = opened("two", "other")
    for name, panel, column in (("two", "codel-count", "count"), ("other", "pie-prob", "prob")):
        samples = run_of(name).table("queues").filter(direction="forward")
        greatest = samples.row(samples[column].arg_max(), named=True)
        at = point(browser, f"bottleneck-forward-{panel}", greatest["time_ns"] / (6 * NS))
        last = samples.filter(pl.col("time_ns") <= at)[column][-1]
        assert last > 0
        assert readings(browser, f"bottleneck-forward-{panel}") == {
            name: pytest.approx(last, rel=1e-3)
        }
    assert browser.complaints() == []


def test_numbers_of_the_whole_run_are_those_of_its_document(
    opened: Open, run_of: Callable[[str], Run]
) -> None:
    browser, run = opened("two"), run_of("two")
    place(browser, "bottleneck-forward-drops-and-marks", 0.5)
    told = run.content["bottleneck"]
    assert min(told["drops"], told["marks"]) > 0
    for measure, kind in enumerate(("drops", "marks")):
        counts = readings(browser, "bottleneck-forward-drops-and-marks", measure)
        assert sum(counts.values()) == told[kind]
    place(browser, "flows-retransmissions", 0.5)
    resent = readings(browser, "flows-retransmissions")
    assert resent == {"2: s2 → d2 reno": run.content["flows"][1]["retransmits"]}


def test_the_table_of_a_panel_has_the_numbers_of_what_is_in_view(
    opened: Open, run_of: Callable[[str], Run]
) -> None:
    """Of packets by count; of a window, which holds until the next acknowledgement, by time."""
    browser, run = opened("two"), run_of("two")
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
    begin, end = 1 * NS, 3 * NS
    browser.run(f"show({begin}, {end})")

    def row(panel: str, line: str) -> list[float]:
        place(browser, panel, 0.5)
        cells = browser.run(
            f"[...document.querySelectorAll('#{panel} tbody tr')]"
            f".find(row => row.firstChild.textContent === '{line}')"
            "?.querySelectorAll('td').values().map(cell => cell.textContent).toArray()"
        )
        return [float(cell.replace("\u2009", "")) for cell in cells]

    waited = run.packets(flow=1).filter(pl.col("dequeue_ns").is_between(begin, end))
    ms = waited["sojourn_ns"].to_numpy() / 1e6
    expected = [len(ms), ms.min(), ms.mean(), np.percentile(ms, 95), ms.max()]
    found = row("bottleneck-forward-queueing-delay", "1: s1 \u2192 d1 cubic")
    assert found == pytest.approx(expected, rel=1e-3)
    acks = run.table("acks").filter(flow=1)
    times = acks["time_ns"].to_numpy().clip(begin, end)
    held = np.diff(times, append=end)
    windows = acks["cwnd_packets"].to_numpy()[held > 0]
    mean = np.average(windows, weights=held[held > 0])
    _, least, found_mean, _, greatest = row(
        "flows-congestion-window", "1: s1 \u2192 d1 cubic, cwnd"
    )
    assert (least, greatest) == (windows.min(), windows.max())
    assert found_mean == pytest.approx(mean, rel=1e-3)


def test_means_are_those_of_the_table_and_found_without_reading_all_records(
    opened: Open,
) -> None:
    """They stand beside the panels at each rest of a view that may hold millions."""
    browser = opened("two")
    for begin, end in ((0, 6), (1.5, 4.1), (2.999, 3.001), (5.5, 6)):
        browser.run(f"show({begin * NS}, {end * NS})")
        for panel in ("bottleneck-forward-queueing-delay", "flows-congestion-window"):
            place(browser, panel, 0.5)
            found = browser.run(
                f"(p => p.lines.map(line => [brief(p, line), numbers(p, line)?.mean ?? null]))"
                f"(all.find(({{id}}) => id === '{panel}'))"
            )
            assert len(found) > 1
            for mean, told in found:
                assert mean == (told if told is None else pytest.approx(told, rel=1e-9))
            assert any(mean is not None for mean, _ in found)
            reads = browser.run(
                f"(p => {{ let reads = 0; const {{series}} = p.lines[0]; const own = series.value;"
                " series.value = new Proxy(own, {get(of, key) { reads++; return of[key]; }});"
                " brief(p, p.lines[0]); series.value = own; return reads; })"
                f"(all.find(({{id}}) => id === '{panel}'))"
            )
            assert reads < 50


def test_a_queue_is_empty_before_and_after_its_packets(
    opened: Open, run_of: Callable[[str], Run]
) -> None:
    """Its mean is that of Little's law: the time that all packets waited, over the run's."""
    browser, run = opened("late"), run_of("late")
    panel = "bottleneck-forward-backlog"
    place(browser, panel, 0.5)
    waited = run.packets().select(pl.coalesce("dequeue_ns", "drop_ns") - pl.col("enqueue_ns"))
    mean = waited.to_series().sum() / (3 * NS)
    assert mean > 1
    assert readings(browser, panel) == {"backlog": pytest.approx(mean, rel=1e-3)}
    for part in (0.1, 0.95):
        point(browser, panel, part)
        assert readings(browser, panel) == {"backlog": 0}
    point(browser, "flows-congestion-window", 0.95)  # of a connection that has ended
    assert readings(browser, "flows-congestion-window") == {}


def test_wheel_keys_and_double_click_zoom_all_panels_in_step(opened: Open) -> None:
    browser = opened("two")
    panel = "bottleneck-forward-queueing-delay"
    x, y = place(browser, panel, 0.5)
    browser.until("performance.now() - lastScroll > SCROLLING")
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100)
    begin, end = view(browser)
    assert end - begin < 6 * NS
    assert (begin + end) / 2 == pytest.approx(3 * NS, rel=0.01)
    browser.run("document.getElementById('overview').focus()")
    browser.press("-")
    browser.press("0")
    assert view(browser) == (0, 6 * NS)
    browser.press("+")
    begin, end = view(browser)
    assert end - begin == pytest.approx(4 * NS)
    browser.press("ArrowRight")
    assert view(browser)[0] == pytest.approx(begin + 0.4 * NS)
    for clicks in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            browser.mouse(kind, x, y, button="left", clickCount=clicks)
    assert view(browser) == (0, 6 * NS)
    assert browser.complaints() == []


def test_an_axis_is_logarithmic_where_its_button_is_pressed(opened: Open) -> None:
    """Equal factors are equal distances, 0 lies at the foot; the other panels stay as they are."""
    browser = opened("two")
    panel = "bottleneck-forward-backlog"
    place(browser, panel, 0.5)
    # The backlog from 2 s on is 1, 10 and 100 packets, after nothing.
    browser.run(
        f"(p => {{ p.lines[0].series = new Series(Float64Array.of(0, 2e9, 3e9, 4e9),"
        f" Float64Array.of(0, 1, 10, 100)); }})(all.find(({{id}}) => id === '{panel}'))"
    )
    button = f"document.querySelector('#{panel} button.axis')"

    def heights() -> list[float]:
        """How many pixels above the axis' foot the line is at each of the values."""
        browser.run(f"{button}.click()")
        browser.settle()
        return inked(browser, panel, 1 * NS, 2.5 * NS, 3.5 * NS, 5 * NS)

    nothing, one, ten, hundred = heights()
    assert nothing == pytest.approx(0, abs=1)
    assert one > 3
    assert ten - one == pytest.approx(hundred - ten, abs=1)
    assert ten - one > 40
    assert browser.run("all.filter(({log}) => log).map(({id}) => id)") == [panel]
    assert browser.run(f"{button}.ariaPressed") == "true"
    assert "logarithmic" in browser.run(f"document.querySelector('#{panel} h3').textContent")
    nothing, one, ten, hundred = heights()
    assert ten - nothing == pytest.approx((hundred - nothing) / 10, abs=1)
    assert browser.run(f"{button}.ariaPressed") == "false"


@pytest.mark.parametrize("log", [False, True])
def test_marks_have_room_beside_their_axis(opened: Open, log: bool) -> None:
    """Of a probability of some parts in 10^9 as of a rate in bytes."""
    browser = opened("two")
    marks = browser.run(
        "(p => [...Array(18).keys()].flatMap(n => { const high = 3.7 * 10 ** (n - 8);"
        f" return valueMarks({{log: {str(log).lower()}, height: p.height}}, high / 4e3, high)"
        " .map(({at, text}) => [at, text, p.context.measureText(text).width]); }))"
        "(all.find(({drawn}) => drawn))"
    )
    assert len(marks) > 36
    for at, text, width in marks:
        assert float(text.replace("\u2009", "").replace("\u2212", "-")) == pytest.approx(at)
        assert width <= browser.run("LEFT - 7")


def test_the_sign_l_is_for_the_panel_with_the_focus_and_in_the_strip_for_all(opened: Open) -> None:
    browser = opened("two")
    browser.press("l")
    assert not browser.run("all.some(({log}) => log)")
    panel = "flows-congestion-window"
    place(browser, panel, 0.5)
    browser.run(f"document.querySelector('#{panel} canvas').focus({{preventScroll: true}})")
    browser.press("l")
    assert browser.run("all.filter(({log}) => log).map(({id}) => id)") == [panel]
    said = "document.getElementById('said').textContent"
    browser.until(f"{said}.includes('Congestion window, packets, logarithmic axis: ')")
    browser.run("document.getElementById('overview').focus()")
    browser.press("l")
    browser.settle()
    linear = "[...new Set(all.filter(({log}) => !log).map(({style}) => style))]"
    assert sorted(browser.run(linear)) == ["events", "shares"]
    browser.press("l")
    assert not browser.run("all.some(({log}) => log)")
    assert browser.complaints() == []


def test_drag_moves_and_with_shift_chooses_a_stretch(opened: Open) -> None:
    browser = opened("two")
    panel = "bottleneck-forward-queueing-delay"
    (left, y), (right, _) = place(browser, panel, 0.25), place(browser, panel, 0.75)
    for modifiers, expected in ((SHIFT, (1.5 * NS, 4.5 * NS)), (0, (0, 3 * NS))):
        browser.mouse("mousePressed", left, y, button="left", modifiers=modifiers)
        browser.mouse("mouseMoved", right, y, button="left", buttons=1, modifiers=modifiers)
        browser.mouse("mouseReleased", right, y, button="left", modifiers=modifiers)
        assert view(browser) == pytest.approx(expected, abs=0.02 * NS)


def test_flows_and_directions_can_be_switched(opened: Open) -> None:
    browser = opened("two")
    panel = "bottleneck-forward-queueing-delay"
    assert set(readings(browser, panel)) > {"1: s1 → d1 cubic", "2: s2 → d2 reno"}
    browser.run("document.querySelector('#controls [data-flow=\"1\"] input').click()")
    browser.settle()
    assert "1: s1 → d1 cubic" not in readings(browser, panel)
    assert "2: s2 → d2 reno" in readings(browser, panel)
    reverse = "document.querySelector('section[data-way=\"bottleneck, reverse\"]')"
    assert browser.run(f"{reverse}.hidden")
    browser.run(
        "[...document.querySelectorAll('#controls label')]"
        ".find(label => label.textContent.includes('reverse')).click()"
    )
    browser.settle()
    assert not browser.run(f"{reverse}.hidden")
    assert browser.complaints() == []


def test_several_runs_lie_one_over_the_other(opened: Open) -> None:
    browser = opened("two", "other")
    panel = "bottleneck-forward-queueing-delay"
    assert {name.split(", ")[0] for name in readings(browser, panel)} == {"two", "other"}
    browser.run("document.querySelector('#controls fieldset input').click()")
    browser.settle()
    assert {name.split(", ")[0] for name in readings(browser, panel)} == {"other"}
    assert browser.complaints() == []


def test_the_theme_can_be_chosen(opened: Open) -> None:
    browser = opened("two")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(ground)
    choose = "(t => { const s = document.getElementById('theme'); s.value = t;"
    browser.run(f"{choose} s.dispatchEvent(new Event('change')); }})('dark')")
    browser.settle()
    assert browser.run(ground) != light
    assert browser.complaints() == []


def test_two_fingers_zoom_and_one_moves(opened: Open) -> None:
    browser = opened("two", width=360, height=740)
    (left, y), (right, _) = (
        place(browser, "bottleneck-forward-queueing-delay", part) for part in (0.4, 0.6)
    )

    def touch(kind: str, *xs: float) -> None:
        points = [{"x": x, "y": y, "id": number} for number, x in enumerate(xs)]
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    touch("touchStart", left, right)
    touch("touchMove", left - (right - left) / 2, right + (right - left) / 2)
    touch("touchEnd")
    assert view(browser) == pytest.approx((1.5 * NS, 4.5 * NS), abs=0.05 * NS)
    touch("touchStart", right)
    touch("touchMove", left)
    touch("touchEnd")
    assert view(browser) == pytest.approx((2.1 * NS, 5.1 * NS), abs=0.05 * NS)
    assert browser.complaints() == []


def test_keys_move_the_cursor_and_show_help(opened: Open) -> None:
    browser = opened("two")
    browser.press("ArrowRight", SHIFT)
    browser.press("ArrowRight", SHIFT)
    assert browser.run("state.cursor") == pytest.approx(3 * NS + 6 * NS / 500)
    browser.press("Escape")
    assert browser.run("state.cursor") is None
    browser.run("document.querySelector('.panel canvas').focus()")
    browser.press("?")
    assert browser.run("document.getElementById('help').open")
    browser.run("document.querySelector('#help button').click()")
    assert browser.complaints() == []


@pytest.mark.parametrize("after", ["", ", 5.9e9"])
def test_a_value_is_held_to_the_right_edge_of_many_records(opened: Open, after: str) -> None:
    """Where none follows, and where one that follows is out of view."""
    browser = opened("two")
    panel = "bottleneck-forward-backlog"
    place(browser, panel, 0.5)
    inks = browser.run(
        "(() => {"
        f" const p = all.find(({{id}}) => id === '{panel}');"
        f" const time = Float64Array.from([...Array(9000).keys(){after}], (n) =>"
        " n < 9000 ? n * 3e5 : n);"
        " p.lines[0].series = new Series(time, time.map(() => 4.7));"
        " state.to = 5.5e9; draw(p);"
        " return [0.2, 0.55, 0.71, 0.97].map(part => Math.max(...p.context.getImageData("
        " LEFT + part * p.width, p.scale(4.7) - 1, 1, 3).data.filter((_, i) => i % 4 === 3))); })()"
    )
    assert min(inks) > 128


@pytest.mark.parametrize("limit", [2000, 10_000])
def test_rates_of_a_thinned_page_are_those_of_all_records(
    opened: Open, run_of: Callable[[str], Run], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(thinning, "LIMIT", limit)
    browser, run = opened("two"), run_of("two")
    panel = "bottleneck-forward-rate-by-flow"
    place(browser, panel, 0.5)
    left = run.packets(flow=1).filter(pl.col("dequeue_ns").is_not_null())

    def rate(begin: float, end: float) -> float:
        here = left.filter(pl.col("dequeue_ns").is_between(begin, end, closed="left"))
        return float(here["size_bytes"].sum()) * 8e9 / (end - begin)

    for begin, end in ((0, 6 * NS), (2.01 * NS, 2.62 * NS)):
        browser.run(f"show({begin}, {end})")
        browser.settle()
        drawn = browser.run(
            f"(p => [...intervals(p, 0)].map(([from, to]) => [from, to,"
            f" 8 * p.lines.find(({{flow}}) => flow === 1).series.rate(from, to)]))"
            f"(all.find(({{id}}) => id === '{panel}'))"
        )
        assert drawn
        for since, until, found in drawn:
            assert found == pytest.approx(rate(since, until))
        # Over what is in view, extended to the intervals that its ends are in.
        step = browser.run("content.interval")
        mean = rate(begin // step * step, min(-(-end // step) * step, 6 * NS)) / 1e6
        assert readings(browser, panel)["1: s1 → d1 cubic"] == pytest.approx(mean, rel=1e-3)


def test_signs_act_where_the_focus_is_alone(opened: Open) -> None:
    """Not anywhere in the page, where dictation would set them off: WCAG 2.1.4."""
    browser = opened("two")
    for key in "+-0?":
        browser.press(key)
    assert not browser.run("document.getElementById('help').open")
    assert view(browser) == (0, 6 * NS)
    x, y = place(browser, "bottleneck-forward-queueing-delay", 0.5)
    for kind in ("mousePressed", "mouseReleased"):
        browser.mouse(kind, x, y, button="left", clickCount=1)
    browser.press("+")
    begin, end = view(browser)
    assert end - begin == pytest.approx(4 * NS)


def test_the_panel_with_the_focus_is_said_and_no_other(
    opened: Open, run_of: Callable[[str], Run]
) -> None:
    """A screen reader says each live region that changes, one after the other."""
    browser, run = opened("two"), run_of("two")
    assert browser.run(
        "[...document.querySelectorAll('output, [role=status], [role=alert], [aria-live]')]"
        ".map(({id}) => id)"
    ) == ["said"]
    panel = "flows-congestion-window"
    place(browser, panel, 0.5)
    browser.run(f"document.querySelector('#{panel} canvas').focus({{preventScroll: true}})")
    browser.press("ArrowRight", SHIFT)
    window = run.table("acks").filter(pl.col("time_ns") <= 3 * NS, flow=1)["cwnd_packets"][-1]
    said = "document.getElementById('said').textContent"
    browser.until(f"{said}.startsWith('3.')")
    assert "Congestion window, packets: " in browser.run(said)
    assert f"1: s1 → d1 cubic: cwnd {window}," in browser.run(said)


@pytest.mark.parametrize(("height", "reached"), [("150px", False), ("10px", True)])
def test_readings_are_reached_with_tab_only_where_they_scroll(
    opened: Open, height: str, reached: bool
) -> None:
    browser = opened("two")
    browser.run(f"for (const {{list}} of all) list.style.maxHeight = '{height}'; changed()")
    browser.settle()
    found = "document.querySelector('.readings ul').hasAttribute('tabindex')"
    assert browser.run(found) is reached


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_nothing_is_wider_than_the_screen(opened: Open, width: int) -> None:
    browser = opened("two", "other", width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_axe_finds_nothing_against_its_being_accessible(
    opened: Open, width: int, theme: str
) -> None:
    """Neither in the page, all of it unfolded, nor in its help."""
    browser = opened("two", "other", width=width)
    browser.run(f"document.documentElement.dataset.theme = '{theme}'; relook()")
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
    browser.run("document.querySelector('button.axis').click()")
    browser.settle()
    browser.run(resources.files("axe_core_python").joinpath("axe.min.js").read_text() + ";0")
    found = "r => r.violations.map(v => [v.id, v.impact, v.nodes.map(n => n.html)])"
    assert browser.run(f"axe.run().then({found})") == []
    browser.run("document.querySelector('.panel canvas').focus()")
    browser.press("?")
    assert browser.run(f"axe.run('#help').then({found})") == []
    browser.run("document.querySelector('#help button').click()")


def test_a_run_without_packets_and_acks_shows_what_was_counted(
    opened: Open, run_of: Callable[[str], Run]
) -> None:
    """And nothing of marks, which it does not know; and says what would bring the rest."""
    browser, run = opened("counted"), run_of("counted")
    place(browser, "bottleneck-forward-drops", 0.5)
    shown = browser.run("all.filter(p => p.direction !== 'reverse').map(({title}) => title)")
    assert shown[:5] == ["Backlog", "Rate of all flows", "Drops", "codel: count", "codel: dropping"]
    assert shown[5:] == ["Goodput", "Round trips of pings"]
    assert readings(browser, "bottleneck-forward-drops") == {
        "drops": run.content["bottleneck"]["drops"]
    }
    place(browser, "bottleneck-forward-rate-of-all-flows", 0.5)
    assert readings(browser, "bottleneck-forward-rate-of-all-flows")["capacity"] == 10
    missing = browser.run("document.querySelector('.facts ul').textContent")
    assert "queueing delay" in missing
    assert "congestion window" in missing
    assert browser.complaints() == []


def test_flows_can_be_found(opened: Open) -> None:
    browser = opened("crowd")
    browser.run(
        "(search => { search.value = 'reno'; search.dispatchEvent(new Event('input')); })"
        "(document.querySelector('input[type=search]'))"
    )
    entries = "[...document.querySelectorAll('.entries label:not([hidden])')]"
    assert browser.run(f"{entries}.map(entry => entry.dataset.flow)") == ["9", "10"]
    browser.run("[...document.querySelectorAll('.flows button')].at(-1).click()")  # None of these
    browser.settle()
    left = browser.run("[...state.flowsOff].sort((a, b) => a - b)")
    assert left == [0, 9, 10]
    assert browser.complaints() == []


def test_a_run_without_records_shows_what_it_has(opened: Open) -> None:
    browser = opened("bare")
    assert browser.run("all.map(({title}) => title)") == ["Distribution of completion times"]
    assert "3 repetitions" in browser.run("document.querySelector('.facts').textContent")
    assert browser.complaints() == []
