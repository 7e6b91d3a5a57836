# measure.py PHOTOD LIBRARY DATA WORK : the gallery over a large library, in figures. See scripts/show-gallery --measure.
import os
import re
import subprocess
import sys
import time
import urllib.request

from browser import Browser

photod, library, data, work = sys.argv[1:]

# Runs before the page's own scripts.
WATCH = """
performance.setResourceTimingBufferSize(100000);
window.measured = {tasks: [], frames: [], first: {}};
new PerformanceObserver(list => list.getEntries().forEach(e => measured.tasks.push([e.startTime, e.duration])))
  .observe({type: 'longtask', buffered: true});
(function look() {
  const now = performance.now(), first = measured.first;
  const cells = document.querySelectorAll('.cell');
  if (cells.length && !first.cells) first.cells = now;
  const ready = [...cells].filter(c => c.matches('.ready'));
  if (ready.length && !first.thumbnail) first.thumbnail = now;
  const visible = [...cells].filter(c => { const r = c.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight; });
  if (visible.length && visible.every(c => c.matches('.ready, .missing')) && !first.screen) first.screen = now;
  if (!first.screen) requestAnimationFrame(look);
})();
"""

# Scrolls for some seconds, and returns the times between frames.
SCROLL = """
new Promise(done => {
  const timeline = document.querySelector('#timeline'), frames = [], began = performance.now();
  let last = began, speed = %f;
  const from = timeline.scrollTop;
  (function step() {
    const now = performance.now();
    frames.push(now - last);
    last = now;
    if (now - began > %f) return done(frames.slice(1));
    timeline.scrollTop = from + speed * (now - began) / 1000;
    requestAnimationFrame(step);
  })();
})
"""

VISIBLE_READY = """
(() => {
  const cells = [...document.querySelectorAll('.cell')].filter(c => {
    const r = c.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight; });
  return cells.length > 0 && cells.every(c => c.matches('.ready, .missing'));
})()
"""


def step(name, value):
    print(f"{name:<58} {value}", flush=True)


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else float("nan")


def settle(browser):
    """Waits until every visible picture is there. Returns how long that took, in ms."""
    began = time.monotonic()
    while not browser.evaluate(VISIBLE_READY):
        if time.monotonic() - began > 30:
            raise SystemExit("pictures are missing after 30 s")
        time.sleep(0.01)
    return round((time.monotonic() - began) * 1000)


def tasks_since(browser, start):
    return [duration for began, duration in browser.evaluate("measured.tasks") if began >= start]


def move(browser, name, speed, milliseconds):
    start = browser.evaluate("performance.now()")
    frames = browser.evaluate(SCROLL % (speed, milliseconds))
    step(f"{name}: frame times, ms, p50 / p99 / longest", " / ".join(
        f"{percentile(frames, p):.1f}" for p in [50, 99, 100]))
    wait = settle(browser)
    longest = max(tasks_since(browser, start), default=0)
    step(f"{name}: longest task, ms (0: none over 50)", round(longest))
    step(f"{name}: pictures complete after the stop, ms", wait)


def main():
    environment = {**os.environ, "PHOTOD_ACCESS_LOG": "false"}
    daemon = subprocess.Popen([photod, "serve", "--library", library, "--data", data, "--listen", "127.0.0.1:0"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    url = re.search(r"http://\S+", daemon.stdout.readline()).group()
    with urllib.request.urlopen(url + "/v1/assets?count=true&limit=1") as answer:
        step("assets", re.search(rb'"count":(\d+)', answer.read()).group(1).decode())
    browser = Browser(f"{work}/profile", 1600, 1000)
    try:
        browser.call("Runtime.enable")
        browser.call("Performance.enable")
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        browser.open(url + "/")
        began = time.monotonic()
        while not browser.evaluate("measured.first.screen"):
            if time.monotonic() - began > 60:
                raise SystemExit("the first screen is not complete after 60 s")
            time.sleep(0.05)
        first = browser.evaluate("measured.first")
        step("first cells, with placeholders, ms", round(first["cells"]))
        step("first thumbnail, ms", round(first["thumbnail"]))
        step("all thumbnails of the first screen, ms", round(first["screen"]))
        step("longest task of loading, ms", round(max(tasks_since(browser, 0), default=0)))
        step("bytes of columns", browser.evaluate(
            "performance.getEntriesByType('resource').filter(e => e.name.includes('layout=columns'))"
            ".reduce((sum, e) => sum + e.transferSize, 0)"))
        move(browser, "scroll, 1,000 px/s", 1000, 5000)
        move(browser, "scroll, 4,000 px/s", 4000, 5000)
        move(browser, "fling, 40,000 px/s", 40_000, 3000)
        start = browser.evaluate("performance.now()")
        browser.evaluate("(t => { t.scrollTop = t.scrollHeight / 2 })(document.querySelector('#timeline')), 1")
        time.sleep(0.1)
        step("a jump to the middle: pictures complete, ms", settle(browser) + 100)
        step("longest task of the jump, ms", round(max(tasks_since(browser, start), default=0)))
        metrics = {m["name"]: m["value"] for m in browser.call("Performance.getMetrics")["metrics"]}
        step("pictures that could not be shown", browser.evaluate("document.querySelectorAll('.cell.missing').length"))
        step("nodes of the document", browser.evaluate("document.querySelectorAll('*').length"))
        step("script heap, MB", round(metrics["JSHeapUsedSize"] / 1e6, 1))
        step("bytes transferred, MB", round(browser.evaluate(
            "performance.getEntriesByType('resource').reduce((sum, e) => sum + e.transferSize, 0)") / 1e6, 1))
        step("requests", browser.evaluate("performance.getEntriesByType('resource').length"))
    finally:
        browser.close()
        daemon.terminate()
        daemon.wait()


main()
