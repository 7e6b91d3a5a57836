# show.py PHOTOD DEMO WORK AXE SCREENSHOTS : see scripts/show-gallery. AXE and SCREENSHOTS may be empty.
import contextlib
import json
import os
import re
import subprocess
import sys
import time

import firefox
import links
from accessibility import Accessibility
from daemon import Daemon, Tab, until
from screens import Screens

photod, demo, work, axe, screenshots = sys.argv[1:]
PICTURES = 12
accessibility = Accessibility(axe)
began = time.monotonic()

READY = "document.querySelectorAll('.cell.ready').length"
PICTURE = "document.querySelector('#viewer .picture')"
COUNT = "document.querySelector('#count').textContent.replace(/\\D/g, '')"
SELECTED = "document.querySelectorAll('.cell.selected').length"


def step(name, value=""):
    print(f"{time.monotonic() - began:5.1f} s  {name:<66} {value}", flush=True)


def write_picture(path, seed, width=1200, height=900):
    subprocess.run([demo, "photo", path, "--seed", str(seed), "--width", str(width), "--height", str(height), "--thumbnail"],
                   check=True, stdout=subprocess.DEVNULL)


def make_library(path):
    """The demo library, and pictures of many months."""
    library = subprocess.Popen([demo, "library", path, "--scale", "0.4"], stdout=subprocess.DEVNULL)
    os.makedirs(path, exist_ok=True)
    for seed in range(PICTURES):
        file = f"{path}/{seed:02}.jpg"
        write_picture(file, seed, *[(900, 675), (675, 900), (1200, 675)][seed % 3])
        stamp = 1_600_000_000 - seed * 12 * 86_400
        os.utime(file, (stamp, stamp))
    if library.wait() != 0:
        raise SystemExit("photod-demo failed")


def cell(kind):
    return f"document.querySelector('.cell:has(.badge.{kind})')"


def open_cell(tab, cell):
    """Opens a picture, and waits for its final frame."""
    tab.until(cell, "a cell")
    tab.do(f"{cell}.click()")
    tab.until("document.querySelector('#viewer').open", "the viewer")


def close_viewer(tab):
    tab.key("Escape")
    # The focus returns to the picture.
    tab.until("!document.querySelector('#viewer').open && !document.querySelector('.stage').childElementCount"
              " && document.activeElement.closest('.cell')", "closing the viewer")


def editor(tab, daemon):
    """Straightens and crops a picture, sees the preview, saves, and reverts. Back, Escape and a reload ask about edits that
    are not saved."""
    panel = "document.querySelector('.editPanel')"
    preview = "document.querySelector('.editStage img')"

    def press(name):
        tab.do(f"[...{panel}.querySelectorAll('button')].find(b => b.textContent === '{name}').click()")

    def slide(name, value):
        tab.do(f"(() => {{ const input = [...{panel}.querySelectorAll('label')].find(l => l.firstChild.textContent === '{name}')"
               f".querySelector('input'); input.value = {value}; input.dispatchEvent(new Event('input')) }})()")

    def edit():
        tab.do("[...document.querySelectorAll('.viewerBar button')].find(b => b.title === 'Edit').click()")
        tab.until(f"{preview}?.naturalWidth > 99", "a preview")

    def answer(button):
        tab.until("document.querySelector('#question').open", "a question about edits")
        tab.do(f"document.querySelector('#question {button}').click()")
        tab.until("!document.querySelector('#question').open", "the answer")

    def back(button):
        tab.do("history.back()")
        answer(button)

    open_cell(tab, "document.querySelector('.cell:not(:has(.badge))')")
    tab.until(f"{PICTURE}?.naturalWidth > 99", "a picture")
    version = tab.run("document.querySelector('#viewer .picture').src.match(/v=([^&]+)/)[1]")
    edit()
    before = tab.run(f"{preview}.src")
    slide("Exposure", 1)
    tab.until(f"{preview}.src !== {before!r} && {preview}.complete", "a preview of the exposure")
    back(".buttons button")
    tab.until(f"{panel} && location.hash.includes('asset=')", "the editor after Cancel")
    tab.key("Escape")
    answer(".buttons button")
    tab.until(panel, "the editor after Escape and Cancel")
    press("Crop")
    tab.until("!document.querySelector('.cropBox').hidden", "the crop")
    tab.do("document.querySelector('.cropBox').focus()")
    for _ in range(5):
        tab.key("ArrowLeft", shift=True)
    tab.until("document.querySelector('.cropBox').style.width === '90%'", "a narrower crop")
    tab.do("setTimeout(() => location.reload())")
    tab.browser.wait("Page.javascriptDialogOpening")
    tab.browser.call("Page.handleJavaScriptDialog", accept=False)
    tab.until(panel, "the editor after a reload that was cancelled")
    press("Save")
    tab.until(f"!{panel} && {PICTURE}?.src.match(/v=([^&]+)/)[1] !== {version!r}", "the edited picture")
    asset = tab.run("document.querySelector('#viewer .picture').src.match(/assets.([^/]+)/)[1]")
    saved = [operation["type"] for operation in daemon.get(f"/v1/assets/{asset}/adjustments")["operations"]]
    if saved != ["crop", "exposure"]:
        raise SystemExit(f"saved: {saved}")
    edit()
    press("Revert to original")
    tab.until(f"!{panel} && {PICTURE}?.src.match(/v=([^&]+)/)[1] === {version!r}", "the reverted picture")
    kept_edits(tab, daemon, asset, edit, press, slide)
    tab.until(f"{PICTURE}?.src.match(/v=([^&]+)/)[1] === {version!r}", "the picture without adjustments")
    edit()
    tab.key("Escape")
    tab.until(f"!{panel} && document.querySelector('#viewer').open", "leaving without edits")
    edit()
    slide("Exposure", 1)
    tab.key("Escape")
    answer(".primary")
    tab.until(f"!{panel} && document.querySelector('#viewer').open", "the picture after Escape")
    edit()
    slide("Exposure", 1)
    back(".primary")
    tab.until(f"!{panel} && !document.querySelector('#viewer').open && !location.hash", "leaving without saving")
    if daemon.get(f"/v1/assets/{asset}")["contentVersion"] != version:
        raise SystemExit("edits are saved that the user left")
    step("a picture is edited with previews, saved and reverted; Back, Escape and a reload ask first")


def kept_edits(tab, daemon, asset, edit, press, slide):
    """Mirror mirrors what is shown; what the controls can't show stays, as do data of another program until Revert; edits
    that another client stores meanwhile, and an edit that can't be read, are not replaced."""
    panel = "document.querySelector('.editPanel')"
    path = f"/v1/assets/{asset}/adjustments"
    shown = f"{PICTURE}?.src.match(/v=([^&]+)/)[1]"

    def put(body):
        tab.run(f"fetch('{path}', {{method: 'PUT', headers: {{'Content-Type': 'application/json'}}, body: JSON.stringify({body})}})")
        tab.until(f"{shown} == {daemon.get(path)['contentVersion']!r}", "adjustments of another client")

    def saved():
        press("Save")
        tab.until(f"!{panel} && document.querySelector('#viewer').open", "saving")
        found = daemon.get(path)
        tab.until(f"{shown} == {found['contentVersion']!r}", "the saved picture")
        return found

    put("{operations: [{type: 'rotate', quarterTurns: 1}, {type: 'crop', rect: [0, 0.25, 0.5, 0.75]}]}")
    edit()
    press("Mirror")
    if saved()["operations"] != [{"type": "flip", "axis": "horizontal"}, {"type": "rotate", "quarterTurns": 3},
                                 {"type": "crop", "rect": [0.5, 0.25, 0.5, 0.75]}]:
        raise SystemExit(f"mirrored: {daemon.get(path)['operations']}")
    vertical, vignette = {"type": "flip", "axis": "vertical"}, {"type": "vignette", "amount": -0.5, "radius": 0.9}
    tilted = [{"type": "straighten", "degrees": 30}, {"type": "exposure", "ev": 4}]
    for before, action, added in [
        ([vertical], lambda: press("Mirror"), {"type": "flip", "axis": "horizontal"}),
        ([vignette], lambda: slide("Vignette", -0.4), {"type": "vignette", "amount": -0.4, "radius": 0.5}),
        (tilted, lambda: slide("Straighten", 3), {"type": "straighten", "degrees": 3}),
    ]:
        put(json.dumps({"operations": before}))
        edit()
        action()
        if saved()["operations"] != before + [added]:
            raise SystemExit(f"after {before}: {daemon.get(path)['operations']}")
    for reset in [None, 0]:
        tab.run(f"fetch('{path}', {{method: 'DELETE'}}).then(r => r.status)")
        tab.until(f"{shown} == {daemon.get(f'/v1/assets/{asset}')['contentVersion']!r}", "no adjustments")
        edit()
        slide("Contrast", 0.5)
        if reset is not None:
            slide("Contrast", reset)
        put("{formatIdentifier: 'com.example.editor', formatVersion: '1', data: 'AAEC', operations: [{type: 'exposure', ev: 1}]}")
        other = daemon.get(path)
        press("Save")
        tab.until("/deleted elsewhere/.test(document.querySelector('#messages').textContent)", "a refusal to save")
        if daemon.get(path) != other or not tab.run(panel):
            raise SystemExit("saving replaces the adjustments of another client, or loses the edits")
        tab.do("document.querySelector('#messages').replaceChildren()")
        press("Cancel")
        tab.until(f"!{panel}", "the end of the editor")
    put("{formatIdentifier: 'com.example.editor', formatVersion: '1', data: 'AAEC'}")
    for contrast in [None, 0.5, 0]:
        edit()
        if contrast is not None:
            slide("Contrast", contrast)
        if saved().get("data") != "AAEC":
            raise SystemExit("saving removes data of another program")
    tab.browser.call("Network.setBlockedURLs", urls=["*/adjustments"])
    tab.do("document.querySelector('#messages').replaceChildren()")
    tab.do("[...document.querySelectorAll('.viewerBar button')].find(b => b.title === 'Edit').click()")
    tab.until("!document.querySelector('.editor') && document.querySelector('#messages p')", "a failure of the editor")
    tab.browser.call("Network.setBlockedURLs", urls=[])
    edit()
    press("Revert to original")
    tab.until(f"!{panel}", "reverting")
    step("Mirror mirrors what is shown, and saving keeps another program's data")


def timeline(tab, other):
    tab.until(f"{READY} > 8", "the first pictures")
    step("pictures of the first screen are shown", tab.run(READY))
    size = tab.run("performance.getEntriesByType('resource').filter(e => e.name.includes('/gallery/'))"
                   ".reduce((sum, e) => sum + e.decodedBodySize, 0)")
    if size > 120_000:
        raise SystemExit(f"the page's code has {size} bytes")
    step("bytes of the page's own code", size)
    months = tab.run("[...document.querySelectorAll('.canvas h2')].map(heading => heading.textContent)")
    if "June 2025" not in months or not all(re.fullmatch(r"\w+ 20\d\d", month) for month in months):
        raise SystemExit(f"the months are {months}")
    for kind in ["burst", "raw", "live", "hdr", "video"]:
        tab.until(cell(kind), f"a badge: {kind}")
    if tab.run("document.querySelectorAll('.cell.stack').length") != 1:
        raise SystemExit("five pictures of a burst are not one stack")
    step("badges: burst, RAW, live, HDR, video")
    tab.do("document.querySelector('#timeline').scrollTop = 1e6")
    tab.until("[...document.querySelectorAll('.cell')].some(c => c.asset.localIdentifier == [...document.querySelectorAll('.cell')].at(-1)"
              ".asset.localIdentifier && document.querySelector('#timeline').scrollTop > 200)", "scrolling")
    step("the end of the list is reached; nodes of the grid", tab.run("document.querySelectorAll('.canvas *').length"))
    tab.do("document.querySelector('#timeline').scrollTop = 0")
    other.until(f"{READY} > 8", "the first pictures of the other tab")


def viewer(tab, other):
    # The sizes of each picture that the viewer shows, as they come.
    tab.do("""window.sizes = {}, (function look() {
      const picture = document.querySelector('#viewer .picture');
      if (picture?.naturalWidth) {
        const list = sizes[picture.src] ??= [];
        if (list.at(-1) != picture.naturalWidth) list.push(picture.naturalWidth);
      }
      requestAnimationFrame(look);
    })()""")
    open_cell(tab, "[...document.querySelectorAll('.cell')].find(c => c.asset.mediaType == 'image')")
    grown = "Object.values(sizes).find(list => list.length > 1 && list[0] < list.at(-1))"
    for _ in range(12):
        tab.until(f"{PICTURE}?.naturalWidth >= 600 || document.querySelector('#viewer video[controls]')", "a picture")
        if tab.run(f"!!{grown}"):
            break
        tab.key("ArrowRight")
    else:
        raise SystemExit("no degraded frame came before a final one")
    step("the viewer shows the degraded frame, then the final one", tab.run(f"{grown}.join(' -> ') + ' px wide'"))
    close_viewer(tab)

    tab.do("document.querySelector('#timeline').scrollTop = 0")
    open_cell(tab, "document.querySelector('.cell[data-index=\"0\"]')")
    tab.key("ArrowRight")
    tab.until(f"{PICTURE}?.src.includes(document.querySelector('.cell[data-index=\"1\"]').asset.localIdentifier)"
              " || document.querySelector('#viewer video')", "the next picture")
    close_viewer(tab)
    step("an arrow key shows the next one, Escape closes")
    open_cell(tab, cell("hdr"))
    favourite = tab.run(f"{cell('hdr')}.asset.localIdentifier")
    tab.key("f")
    other.until(f"[...document.querySelectorAll('.cell')].find(c => c.asset.localIdentifier == '{favourite}')?.querySelector('.favourite')",
                "a star in another tab")
    step("a star in one tab appears in the other")
    close_viewer(tab)
    high_range(tab, favourite)
    touch(tab)
    return favourite


def high_range(tab, asset):
    """A gain map is requested where the screen can show it, and is in the answer."""
    for is_high, wanted in [(False, "standard"), (True, "preserve")]:
        tab.do(f"window.isHighRange = {str(is_high).lower()}")
        open_cell(tab, cell("hdr"))
        tab.until(f"{PICTURE}?.src.includes('dynamicRange={wanted}') && {PICTURE}.naturalWidth > 400", f"a picture, {wanted}")
        result = tab.run(f"fetch({PICTURE}.src.replace('&deliveryMode=opportunistic', '')).then(r => r.headers.get('Image-Result'))")
        if ("dynamic-range=high" in result) != is_high:
            raise SystemExit(f"{wanted}: {result}")
        close_viewer(tab)
    tab.do("window.isHighRange = false")
    step("a gain map is requested where the screen shows high dynamic range")


def touch(tab):
    """A swipe shows the next picture, two fingers zoom, a pull down closes."""
    shown = "document.querySelector('#viewer .picture')?.src"
    still = "document.querySelector('.cell:not(:has(.video, .live))[data-index=\"%d\"]')"
    index = next(index for index in range(9) if tab.run(f"!!({still % index} && {still % (index + 1)})"))
    open_cell(tab, still % index)
    first = tab.run(shown)
    tab.touch([(900, 450)], [(800, 455)], [(600, 455)])
    tab.until(f"{shown} != '{first}' && {PICTURE}.naturalWidth > 99", "a swipe to the next picture")
    second = tab.run(shown)
    tab.touch([(500, 450)], [(600, 455)], [(800, 455)])
    tab.until(f"{shown} == '{first}'", "a swipe to the former picture")
    tab.touch([(600, 450), (680, 450)], [(500, 450), (780, 450)], [(400, 450), (880, 450)])
    tab.until("new DOMMatrix(document.querySelector('.frame').style.transform).a == 6", "a pinch")
    # A finger pans what is zoomed in, and does not leave it.
    tab.touch([(900, 450)], [(800, 450)], [(600, 450)])
    tab.until("new DOMMatrix(document.querySelector('.frame').style.transform).e < -200", "a pan")
    if tab.run(shown) != first or first == second:
        raise SystemExit("a pan shows another picture")
    tab.touch([(600, 450), (880, 450)], [(620, 450), (660, 450)])
    tab.until("new DOMMatrix(document.querySelector('.frame').style.transform).a == 1", "zooming out")
    tab.touch([(640, 300)], [(640, 380)], [(640, 500)])
    tab.until("!document.querySelector('#viewer').open", "a pull")
    step("touch: swipes, a pinch, a pan, a pull down")
    narrow_touch(tab)


def narrow_touch(tab):
    """On a phone, a swipe over the pictures at the edge scrolls, a tap there opens, and the thumb jumps."""
    top = "document.querySelector('#timeline').scrollTop"
    tab.resize(360, 740)
    tab.browser.call("Emulation.setTouchEmulationEnabled", enabled=True)
    tab.until(f"innerWidth == 360 && matchMedia('(pointer: coarse)').matches && {READY} > 3", "a phone")
    tab.do(f"{top} = 0")
    edge = ("(boxes => boxes.find(b => b.right > innerWidth - 20 && b.top > 80 && b.bottom < innerHeight))"
            "([...document.querySelectorAll('.cell')].map(c => c.getBoundingClientRect()))")
    tab.until(f"{top} == 0 && {edge}", "a picture at the edge")
    tap = lambda: tab.touch([tab.run(f"(b => [b.right - 6, b.top + b.height / 2])({edge})")])
    # A tap that comes too soon after the resize is lost.
    until(lambda: tab.run("document.querySelector('#viewer').open") or tap(), "a tap at the edge")
    close_viewer(tab)
    tab.touch([(345, 500)], [(345, 460)], [(345, 420)], [(345, 400)])
    tab.until(f"{top} > 20", "a scroll")
    if tab.run(top) > 200:
        raise SystemExit(f"a swipe of 100 px scrolls by {tab.run(top)} px")
    x, y = tab.run("(b => [b.left - 10, b.top + 15])(document.querySelector('.thumb').getBoundingClientRect())")
    tab.touch([(x, y)], [(x, y + 100)], [(x, y + 300)])
    tab.until(f"{top} > 300", "a drag of the thumb")
    tab.do(f"{top} = 0")
    tab.browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    tab.resize(1280, 900)
    tab.until(f"innerWidth == 1280 && {READY} > 8", "the wide screen")
    step("on a phone, fingers scroll and tap beside the thumb of the scrubber")


def hidden_tab(tab, other):
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true}), document.dispatchEvent(new Event('visibilitychange'))"
    other.do(hide % "true")
    other.until("streams.length >= 2 && streams.every(stream => stream.readyState == EventSource.CLOSED)", "the end of its streams")
    asset = tab.run("[...document.querySelectorAll('.cell')].find(c => !c.asset.isFavorite).asset.localIdentifier")
    star = lambda value: change(tab, f"{{type: 'updateAsset', asset: '{asset}', isFavorite: {value}}}")
    star("true")
    other.do(hide % "false")
    marked = f"[...document.querySelectorAll('.cell')].find(c => c.asset.localIdentifier == '{asset}')?.querySelector('.favourite')"
    other.until(marked, "a change while a tab was hidden")
    star("false")
    other.until(f"!{marked}", "the next change")
    step("a hidden tab holds no connection, and catches up when it is shown")


def open_named(tab):
    """Opens the details of a picture with people, places and keywords."""
    open_cell(tab, "[...document.querySelectorAll('.cell')].find(c => c.asset.creationDate == '2025-06-21T10:00:41Z')")
    tab.key("i")
    tab.until("document.querySelector('.chips button')", "details")


def narrow_burst(tab):
    """On a narrow screen, the strip of a burst covers neither the date nor the details."""
    tab.resize(360, 740)
    box = "document.querySelector('%s').getBoundingClientRect()"
    tab.until(f"innerWidth == 360 && {box % '.strip'}.bottom < {box % '.viewerBar p'}.top", "the strip above the date")
    tab.key("i")
    tab.until("document.querySelector('.details')?.childElementCount > 2", "details of a picture of a burst")
    if not tab.run(f"(b => document.elementFromPoint(180, b.top + 20).closest('.details'))({box % '.strip'}) !== null"):
        raise SystemExit("the strip of a burst covers the details")
    tab.key("i")
    tab.resize(1280, 900)
    tab.until(f"innerWidth == 1280 && !document.querySelector('.details')", "the wide screen")


def kinds(tab):
    open_cell(tab, cell("burst"))
    tab.until("document.querySelectorAll('.strip button').length == 5", "the strip of a burst")
    before = tab.run(f"{PICTURE}.src")
    tab.do("document.querySelector('.strip [aria-pressed=false]').click()")
    tab.until(f"{PICTURE}.src != '{before}' && {PICTURE}.naturalWidth > 400", "another picture of a burst")
    if tab.run("[...document.images].some(image => image.draggable)"):
        raise SystemExit("a dragged image would be dropped as a new file")
    accessibility.check(tab, "a burst in the viewer")
    narrow_burst(tab)
    member = tab.run(links.SHOWN)
    tab.until(f"{links.LINKED % 'asset'} == '{member}'", "the address of a picture of a burst")
    tab.do("window.isLeft = true")
    tab.browser.call("Page.reload")
    tab.until(f"!window.isLeft && document.readyState == 'complete' && {links.SHOWN} == '{member}'"
              f" && document.querySelector('.strip [aria-pressed=true]')?.dataset.id == '{member}'", "the same picture after a reload")
    tab.key("ArrowRight")
    tab.until(f"{links.SHOWN} && {links.SHOWN} != '{member}' && !document.querySelector('.strip')", "the picture after the burst")
    close_viewer(tab)
    step("a burst shows its five pictures, each with an address")
    open_cell(tab, cell("raw"))
    tab.until(f"{PICTURE}.naturalWidth > 400", "a RAW file")
    close_viewer(tab)
    step("a RAW file is shown by its preview")
    open_cell(tab, cell("video"))
    tab.until("document.querySelector('#viewer video')?.readyState >= 2", "a video")
    if not tab.run("document.querySelector('.viewerBar [aria-label=\"Copy a link\"]').hidden"):
        raise SystemExit("a link to a video is offered, although it can't be signed")
    tab.do("document.querySelector('#viewer video').currentTime = 7")
    tab.until("(v => !v.seeking && v.readyState >= 2 && v.currentTime >= 7)(document.querySelector('#viewer video'))", "a seek")
    close_viewer(tab)
    step("a video plays, and seeks")
    open_cell(tab, cell("live"))
    tab.do("document.querySelector('.viewerBar [aria-label=\"Play the live photo\"]').click()")
    tab.until("document.querySelector('#viewer .live.playing')?.currentTime > 0", "a live photo")
    close_viewer(tab)
    tab.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    open_cell(tab, cell("live"))
    tab.until("document.querySelector('#viewer .live')", "a live photo")
    tab.do("document.querySelector('.stage').dispatchEvent(new PointerEvent('pointerenter'))")
    if not tab.run("document.querySelector('#viewer .live').paused"):
        raise SystemExit("a live photo plays under the mouse with reduced motion")
    close_viewer(tab)
    tab.resize(1280, 900)
    step("a live photo plays")
    open_named(tab)
    tab.until("[...document.querySelectorAll('.chips button')].some(b => b.textContent == 'Ada Lovelace')", "details")
    accessibility.check(tab, "details in the viewer")
    # In a field where the browser has no clipboard for the page.
    tab.do("document.querySelector('.viewerBar [aria-label=\"Copy a link\"]').click()")
    tab.until("document.querySelector('#messages p') || document.querySelector('#question[open] input')?.value.includes('/v1/assets/')",
              "a link")
    tab.do("document.querySelector('#question').close()")
    step("a signed link is offered")
    tab.do("[...document.querySelectorAll('.chips button')].find(b => b.textContent == 'Ada Lovelace').click()")
    tab.until(f"{COUNT} == '1'", "a search for a person")
    named = tab.run("document.querySelector('.cell').asset.localIdentifier")
    change(tab, f"""{{type: 'updateAsset', asset: '{named}', keywords: ['5" < 6"']}}""")
    tab.do("document.querySelector('#search input').focus()")
    tab.key("Escape")
    tab.until(f"{COUNT} > 10", "the end of a search")
    # The details stay open.
    open_cell(tab, f"[...document.querySelectorAll('.cell')].find(c => c.asset.localIdentifier == '{named}')")
    quotes = """[...document.querySelectorAll('.chips button')].find(b => b.textContent == '5" < 6"')"""
    tab.until(quotes, "a keyword with quotes")
    tab.do(f"{quotes}.click()")
    tab.until(f"{COUNT} == '1' && document.querySelector('.cell').asset.localIdentifier == '{named}'", "a search for quotes")
    step("the details name people, places and keywords, and search for them")
    tab.do("document.querySelector('#search input').focus()")
    tab.key("Escape")
    tab.until(f"{COUNT} > 10", "the end of a search")
    known_values(tab)


@contextlib.contextmanager
def second_page(tab, url):
    """The tab is another page of the same browser meanwhile, which shares its storage."""
    browser, first = tab.browser, tab.browser._session
    browser._session = None
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    browser._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    browser.call("Page.enable")
    browser.open(url)
    yield
    browser._session = None
    browser.call("Target.closeTarget", targetId=target)
    browser._session = first


def known_values(tab):
    """The details round what cameras write as fractions."""
    texts = tab.run("""(async () => {
      const {fetch} = window;
      window.fetch = (path, ...more) => path.endsWith('/metadata')
        ? Response.json({EXIF: {FNumber: 1.7799999713880652, ExposureTime: 0.4}}) : fetch(path, ...more);
      try {
        const {details} = await import('/gallery/viewer.js');
        return (await details(document.querySelector('.cell').asset.localIdentifier)).map(e => e.textContent);
      } finally { window.fetch = fetch; }
    })()""")
    if "ƒ/1.78  ·  0.4 s" not in texts:
        raise SystemExit(f"details: {texts}")
    step("the details round apertures and exposures")


def elsewhere(tab, other, daemon):
    count = daemon.count
    write_picture(f"{daemon.library}/new.jpg", 99, 600, 450)
    tab.until(f"{COUNT} == '{count + 1}'", "a copied file")
    step("a file that is copied into the library appears")
    write_picture(f"{work}/upload.jpg", 100, 600, 450)
    tab.choose_files(f"{work}/upload.jpg")
    other.until(f"{COUNT} == '{count + 2}'", "an upload")
    step("an uploaded file appears in the other tab")
    # An empty file is refused, and the next one is added.
    open(f"{work}/empty.jpg", "wb").close()
    write_picture(f"{work}/after.jpg", 104, 600, 450)
    tab.choose_files(f"{work}/empty.jpg", f"{work}/after.jpg")
    other.until(f"{COUNT} == '{count + 3}'", "an upload after an empty file")
    uploads = "document.querySelector('#uploads')"
    tab.until(f"{uploads}.textContent.includes('1 photograph added.') && {uploads}.textContent.includes('empty.jpg')",
              "the refusal of an empty file")
    for number in range(40):
        open(f"{work}/empty{number}.jpg", "wb").close()
    tab.choose_files(*[f"{work}/empty{number}.jpg" for number in range(40)])
    tab.until(f"{uploads}.querySelectorAll('p').length == 41", "a list of what is refused")
    if not tab.run(f"(b => b.top > 0 && b.bottom < innerHeight && {uploads}.scrollHeight > b.height)({uploads}.getBoundingClientRect())"):
        raise SystemExit("the list of what is refused does not scroll within the screen")
    tab.do(f"{uploads}.querySelector('button').click()")
    tab.until(f"!{uploads}.checkVisibility()", "closing the list")
    step("an empty file does not stop the uploads after it; a list says what is refused")
    tab.choose_files(f"{work}/after.jpg")
    tab.until(f"{uploads}.textContent == '0 photographs added. 1 photograph already here.'", "a file that the library has")
    write_picture(f"{work}/offline.jpg", 110, 600, 450)
    tab.browser.call("Network.setBlockedURLs", urls=["*/v1/uploads*"])
    tab.choose_files(f"{work}/offline.jpg")
    tab.until(f"/^Offline/.test({uploads}.textContent)", "the wait for the connection")
    tab.browser.call("Network.setBlockedURLs", urls=[])
    tab.until(f"{uploads}.textContent == '1 photograph added.'", "the upload after it")
    count += 1
    other.until(f"{COUNT} == '{count + 3}'", "its photograph")
    step("an upload waits for the connection; a file that is already there is not counted")
    # The first piece does not arrive, and then the page is loaded again.
    write_picture(f"{work}/resumed.jpg", 101, 600, 450)
    tab.browser.call("Network.setBlockedURLs", urls=["*/v1/uploads/*"])
    tab.choose_files(f"{work}/resumed.jpg")
    tab.until("performance.getEntriesByType('resource').filter(e => e.name.includes('/v1/uploads/')).length > 0",
              "an upload's beginning")
    # Another page of this browser leaves it to the first one.
    write_picture(f"{work}/second.jpg", 105, 600, 450)
    with second_page(tab, daemon.url + "/"):
        tab.until(f"{READY} > 4", "pictures of the second page")
        tab.choose_files(f"{work}/second.jpg")
        tab.until("/ added/.test(document.querySelector('#uploads').textContent)", "an upload of the second page")
        added = tab.run("document.querySelector('#uploads').textContent")
        if added != "1 photograph added.":
            raise SystemExit(f"the second page: {added}")
    count += 1
    other.until(f"{COUNT} == '{count + 3}'", "its photograph")
    step("an upload stays with its page")
    tab.browser.call("Network.setBlockedURLs", urls=[])
    tab.open(daemon.url + "/")
    other.until(f"{COUNT} == '{count + 4}'", "a resumed upload")
    step("an upload goes on after a reload")
    tab.until(f"{READY} > 8 && document.querySelectorAll('.collection').length > 3", "pictures after the reload")


DROP = """((from, to, after) => {
  const data = new DataTransfer(), box = to.getBoundingClientRect();
  const at = {dataTransfer: data, bubbles: true, cancelable: true, clientX: after ? box.right - 3 : box.left + 3, clientY: box.top + 9};
  from.dispatchEvent(new DragEvent('dragstart', at));
  to.dispatchEvent(new DragEvent('dragover', at));
  to.dispatchEvent(new DragEvent('drop', at));
})"""


def row(title):
    return f"[...document.querySelectorAll('.collection')].find(r => r.querySelector('.name').textContent == '{title}')"


def albums(tab, other, daemon):
    tab.do("document.querySelector('#sidebar h2 .small').click()")
    tab.until("document.querySelector('#question').open", "a question")
    tab.do("document.querySelector('#question input').value = 'Norway', document.querySelector('#question .primary').click()")
    other.until(row("Norway"), "an album in another tab")
    tab.until(row("Norway"), "an album")
    step("an album that one tab makes appears in the other")
    tab.do("document.querySelectorAll('.cell .check')[0].click(), document.querySelectorAll('.cell .check')[2].click()")
    tab.until(f"{SELECTED} == 2", "a selection")
    accessibility.check(tab, "a selection")
    album = daemon.get("/v1/collections?type=album")["collections"][0]["localIdentifier"]
    members = lambda: [asset["localIdentifier"] for asset in daemon.get(f"/v1/collections/{album}/assets")["assets"]]
    tab.do(f"{DROP}(document.querySelector('.cell.selected'), {row('Norway')})")
    order = until(lambda: len(members()) == 2 and members(), "a drop")
    other.until(f"{row('Norway')}.querySelector('.number').textContent == '2'", "the count of an album")
    step("two selected pictures are dropped into it; the other tab counts them")
    tab.key("Escape")
    tab.do(f"{row('Norway')}.querySelector('.open').click()")
    tab.until(f"{COUNT} == '2' && document.querySelectorAll('.cell').length == 2", "an album's list")
    # The last selected picture was one of another list.
    tab.do("document.querySelector('.cell').dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: true}))")
    tab.until(f"{SELECTED} == 1", "a selection in another list")
    tab.key("Escape")
    tab.until(f"{SELECTED} == 0", "no selection")
    tab.do(f"{DROP}(document.querySelectorAll('.cell')[1], document.querySelectorAll('.cell')[0])")
    until(lambda: members() == order[::-1], "a new order")
    tab.until(f"document.querySelectorAll('.cell')[0].asset.localIdentifier == '{order[1]}' || "
              f"[...document.querySelectorAll('.cell')].find(c => c.dataset.index == 0).asset.localIdentifier == '{order[1]}'", "its display")
    step("a picture is dropped before another one of the album")
    change(tab, "{type: 'createFolder', title: 'Travels'}")
    tab.until(row("Travels"), "a folder")
    tab.do(f"{row('Travels')}.querySelector('[aria-label=Delete]').click()")
    tab.until("/folder “Travels” and all albums/.test(document.querySelector('#question[open]')?.textContent)", "a question about a folder")
    tab.do("document.querySelector('#question .primary').click()")
    tab.until(f"!{row('Travels')}", "the deletion of a folder")
    step("a folder is deleted after a question about its albums")
    squares = "[...document.querySelectorAll('#sidebar .cover img')]"
    tab.until(f"{squares}.length > 3 && {squares}.every(i => i.complete && i.naturalWidth == i.naturalHeight "
              "&& i.src.includes('cropAnchor=auto'))", "covers")
    tab.do(f"{row('Recently Added')}.querySelector('.open').click()")
    tab.until(f"document.querySelector('#title').textContent == 'Recently Added' && {COUNT} > 10 && {READY} > 5", "what was added last")
    if tab.run("document.querySelectorAll('.canvas h2').length") > 0:
        raise SystemExit("months name pictures that are in the order of their addition")
    change(tab, "{type: 'createAlbum', title: 'Gone'}")
    tab.until(row("Gone"), "an album that will go")
    tab.do(f"{row('Gone')}.querySelector('.open').click()")
    tab.until("/There are no photographs/.test(document.querySelector('.empty').textContent)", "an empty album")
    gone = next(album["localIdentifier"] for album in daemon.get("/v1/collections?type=album")["collections"] if album["title"] == "Gone")
    change(other, f"{{type: 'deleteCollection', collection: '{gone}'}}")
    tab.until("/Show everything/.test(document.querySelector('.empty').textContent)", "the deletion of the shown album")
    step("what was added last has no months; an album that is deleted elsewhere says so")
    tab.do("document.querySelector('#sidebar .open').click()")
    tab.until(f"{COUNT} > 10 && {READY} > 5", "the library")


def selection(tab):
    box = lambda index: tab.run(f"(b => [b.left + b.width / 2, b.top + b.height / 2])("
                                f"document.querySelector('.cell[data-index=\"{index}\"]').getBoundingClientRect())")
    tab.mouse("mousePressed", *box(0))
    tab.until(f"{SELECTED} == 1", "a long press")
    tab.mouse("mouseMoved", *box(1))
    tab.mouse("mouseMoved", *box(3))
    tab.mouse("mouseReleased", *box(3))
    tab.until(f"{SELECTED} == 4", "a selection by drag")
    tab.key("Escape")
    tab.until(f"{SELECTED} == 0", "no selection")
    step("a long press and a drag select a range")
    # From the first control on, by the keyboard alone.
    tab.do("document.activeElement.blur(), window.getSelection().removeAllRanges()")
    tab.open(tab.run("location.href"))
    tab.until(f"{READY} > 8 && document.querySelectorAll('.collection').length > 3", "pictures after the reload")
    reached = []
    for _ in range(60):
        tab.key("Tab")
        reached.append(tab.run("(e => e.id || e.parentElement.id || e.className.split(' ')[0])(document.activeElement)"))
        if reached[-1] == "cell":
            break
    wanted = ["skip", "search", "add", "service", "open", "cell"]
    places = [reached.index(name) if name in reached else -1 for name in wanted]
    if -1 in places or places != sorted(places):
        raise SystemExit(f"Tab reaches {reached}")
    tab.key(" ")
    for _ in range(3):
        tab.key("ArrowRight", shift=True)
    tab.until(f"{SELECTED} == 4", "a selection by keys")
    tab.key("Tab")
    tab.until("document.activeElement.closest('#selectionBar')", "Tab to the bar of the selection")
    tab.key("Escape")
    tab.until(f"{SELECTED} == 0 && document.activeElement.matches('.cell')", "Escape in the bar of the selection")
    tab.key("Enter")
    tab.until("document.querySelector('#viewer').open", "Enter")
    close_viewer(tab)
    if tab.run("document.activeElement.className.split(' ')[0]") != "cell":
        raise SystemExit("the focus does not return to the picture")
    step("Tab reaches everything in order; keys select, open and close", " ".join(wanted))


def burst_deletion(tab, daemon):
    """After the deletion of a burst's other picture, the viewer shows the one of the list."""
    open_cell(tab, cell("burst"))
    tab.until("document.querySelectorAll('.strip button').length == 5", "the strip of a burst")
    first = tab.run(links.SHOWN)
    tab.do("document.querySelector('.strip [aria-pressed=false]').click()")
    tab.until(f"{links.SHOWN} != '{first}'", "another picture of a burst")
    tab.do("document.querySelector('.viewerBar [aria-label=Delete]').click()")
    tab.until(f"{links.SHOWN} == '{first}' && document.querySelectorAll('.strip button').length == 4", "its deletion")
    tab.do("document.querySelector('#messages button').click()")
    close_viewer(tab)
    open_cell(tab, cell("burst"))
    tab.until("document.querySelectorAll('.strip button').length == 5", "the strip after Undo")
    close_viewer(tab)
    step("a deleted picture of a burst leaves the viewer")


def parts(tab):
    """A selection of any size is sent in parts, and the first makes the album."""
    sizes = tab.run("import('/gallery/api.js').then(async ({inParts}) => { const sizes = [];"
                    " await inParts(Array(2500).fill(0), async part => sizes.push(part.length)); return sizes })")
    if sizes != [1000, 1000, 500]:
        raise SystemExit(f"parts of {sizes}")
    tab.do("document.querySelectorAll('.cell .check')[0].click(), document.querySelectorAll('.cell .check')[1].click()")
    press(tab, "Add to an album")
    tab.until("document.querySelector('#question').open", "a question about an album")
    tab.do("document.querySelector('#question input').value = 'Chosen', document.querySelector('#question .primary').click()")
    tab.until(f"{row('Chosen')}?.querySelector('.number').textContent == '2' && {SELECTED} == 0", "an album of a selection")
    step("a selection becomes an album; long ones are sent in parts")


def selection_of_changing_list(tab, daemon):
    """A range begins at its picture, wherever that is now; pictures that are gone are not selected."""
    count = daemon.count
    shown = lambda index: f"document.querySelector('.cell[data-index=\"{index}\"]')"
    first, selected = [tab.run(f"{shown(index)}.asset.localIdentifier") for index in (0, 3)]
    tab.do(f"{shown(3)}.querySelector('.check').click()")
    change(tab, f"{{type: 'deleteAsset', asset: '{first}'}}")
    tab.until(f"{COUNT} == '{count - 1}'", "a shorter list")
    tab.do(f"{shown(1)}.dispatchEvent(new MouseEvent('click', {{bubbles: true, shiftKey: true}}))")
    if tab.run(SELECTED) != 2:
        raise SystemExit(f"a range of two has {tab.run(SELECTED)} pictures")
    change(tab, f"{{type: 'deleteAsset', asset: '{selected}'}}")
    tab.until(f"{SELECTED} == 1 && document.querySelector('#selectionBar strong').textContent == '1 selected'", "a smaller selection")
    change(tab, ", ".join(f"{{type: 'restoreAsset', asset: '{asset}'}}" for asset in (first, selected)))
    tab.until(f"{COUNT} == '{count}'", "the former list")
    tab.key("Escape")
    tab.until(f"{SELECTED} == 0", "no selection")
    step("a selection follows the changes of its list")


def press(tab, name):
    """Presses a button of the selection's bar."""
    tab.do(f"[...document.querySelectorAll('#selectionBar button')].find(b => b.title == '{name}').click()")


def hiding(tab, daemon):
    """A hidden picture is shown again in the album of hidden ones."""
    count = daemon.count
    tab.do(f"{cell('burst')}.querySelector('.check').click()")
    press(tab, "Hide")
    until(lambda: daemon.count == count - 1, "hiding")
    tab.until(row("Hidden"), "the album of hidden pictures")
    tab.do(f"{row('Hidden')}.querySelector('.open').click()")
    tab.until(f"{COUNT} == '1' && {cell('burst')}", "a hidden picture and its badge")
    open_cell(tab, cell("burst"))
    tab.until("document.querySelectorAll('.strip button').length == 5", "the strip of a hidden picture")
    close_viewer(tab)
    tab.do("document.querySelector('.cell .check').click()")
    press(tab, "Show")
    until(lambda: daemon.count == count, "showing it again")
    tab.do("document.querySelector('#sidebar .open').click()")
    tab.until(f"{COUNT} == '{count}' && {READY} > 5", "the library")
    step("a hidden picture is shown again")


def download(tab):
    """An archive is of a collection, so a URL has room for every selection."""
    tab.do("document.querySelectorAll('.cell .check')[0].click(), document.querySelectorAll('.cell .check')[1].click()")
    tab.browser.call("Browser.setDownloadBehavior", behavior="allowAndName", downloadPath=f"{work}/downloads")
    press(tab, "Download")
    until(lambda: os.path.isdir(f"{work}/downloads") and [
        name for name in os.listdir(f"{work}/downloads")
        if open(f"{work}/downloads/{name}", "rb").read(2) == b"PK" and not name.endswith(".crdownload")], "a downloaded archive")
    if tab.run(SELECTED) != 2:
        raise SystemExit("a download leaves the page")
    tab.key("Escape")
    tab.until(f"{SELECTED} == 0", "no selection")
    step("selected pictures are downloaded as an archive")


def deletion(tab, daemon):
    count = daemon.count
    # A key that is held repeats.
    open_cell(tab, "document.querySelector('.cell')")
    tab.do("document.querySelector('#viewer').dispatchEvent(new KeyboardEvent('keydown', {key: 'Delete', repeat: true})), "
           "document.querySelector('#viewer').dispatchEvent(new KeyboardEvent('keydown', {key: 'Delete'}))")
    tab.until("document.querySelector('#messages button')", "a deletion by a key")
    until(lambda: daemon.count == count - 1, "one deletion by a key that is held")
    tab.do("document.querySelector('#messages button').click()")
    until(lambda: daemon.count == count, "taking it back")
    close_viewer(tab)
    tab.do("document.querySelectorAll('.cell .check')[0].click()")
    tab.do("[...document.querySelectorAll('#selectionBar button')].at(-1).click()")
    tab.until("document.querySelector('#messages button')", "a deletion")
    until(lambda: daemon.count < count, "a deletion")
    tab.until(f"{SELECTED} == 0 && {COUNT} == '{count - 1}'", "the end of the selection")
    tab.do("document.querySelector('.cell .check').click()")
    tab.do("document.querySelector('#messages button').click()")
    tab.until(f"{COUNT} == '{count}'", "taking it back")
    if tab.run(SELECTED) != 1:
        raise SystemExit("Undo clears what was selected meanwhile")
    tab.key("Escape")
    tab.until(f"{SELECTED} == 0", "no selection")
    step("a deleted picture comes back; the selection of that moment stays")


OPTIONS = "[...document.querySelectorAll('#words button')].map(e => e.firstChild.data)"


def change(tab, entry):
    """Performs a change list of one entry."""
    if not tab.run(f"""fetch('/v1/changes', {{method: 'POST', headers: {{'Content-Type': 'application/json'}},
      body: JSON.stringify({{changes: [{entry}]}})}}).then(r => r.ok)"""):
        raise SystemExit(f"refused: {entry}")


def type_words(tab, words):
    """In place of what the search field has."""
    tab.do("document.querySelector('#search input').focus(), document.querySelector('#search input').select()")
    tab.browser.call("Input.insertText", text=words)


def search(tab, favourite):
    type_words(tab, "pixelWidth > 10 AND isFav")
    tab.until(f"{OPTIONS}.join() == 'isFavorite'", "a completion")
    tab.key("ArrowDown")
    tab.until("document.activeElement.matches('#words button')", "a chosen completion")
    accessibility.check(tab, "completions")
    tab.key("Enter")
    tab.until("document.querySelector('#search input').value == 'pixelWidth > 10 AND isFavorite '", "a completed word")
    step("the search completes the words of predicates")
    change(tab, f"{{type: 'updateAsset', asset: '{favourite}', "
                "regions: [{type: 'face', rect: [.1, .1, .2, .2], name: 'Émilie du Châtelet'}]}")
    type_words(tab, "du cha")
    tab.until(f"{OPTIONS}.join() == 'Émilie du Châtelet'", "a person's name")
    tab.do("document.querySelector('#words button').click()")
    tab.until(f"{COUNT} == '1' && document.querySelector('.cell').asset.localIdentifier == '{favourite}'", "a search for a name")
    if tab.run("document.querySelector('#search input').value") != '"Émilie du Châtelet"':
        raise SystemExit("the name is not a phrase")
    type_words(tab, "ada")
    # Her file names her without a place in the picture.
    tab.until(f"{OPTIONS}.includes('Ada Lovelace')", "a person's name of a file")
    step("the search completes the names of people, without their accents")
    tab.do("document.querySelector('#search input').value = 'isFavorite == YES', "
           "document.querySelector('#search').requestSubmit()")
    tab.until(f"{COUNT} == '1' && document.querySelector('.cell').asset.localIdentifier == '{favourite}'", "a search")
    step("a predicate finds the favourite")
    tab.do("document.querySelector('#search input').value = '\"I <3 NY IN\"', document.querySelector('#search').requestSubmit()")
    tab.until("/Nothing matches/.test(document.querySelector('.empty').textContent)", "a search for words in quotes")
    tab.do("document.querySelector('#search input').value = '', document.querySelector('#search').requestSubmit()")
    tab.until(f"{COUNT} > 10", "the end of a search")
    tab.do("document.querySelector('#search input').value = '\u201cE=mc2\u201d', document.querySelector('#search').requestSubmit()")
    tab.until("/Nothing matches/.test(document.querySelector('.empty').textContent)", "a search for words in curly quotes")
    tab.do("document.querySelector('#search input').value = '', document.querySelector('#search').requestSubmit()")
    tab.until(f"{COUNT} > 10", "the end of a search")
    places(tab)


def places(tab):
    """A failed list of moments is requested again, and all of its pages are read."""
    forget = "import('/gallery/dom.js').then(({page}) => page.emit('collections'))"
    tab.run(f"""(window.daemonFetch = window.fetch, window.requests = 0, window.fetch = async (path, ...more) => {{
      const title = {{'/v1/collections?type=moment&limit=1000': 'Leipzig', '/older': 'Lisbon & Porto'}}[path];
      if (!title) return daemonFetch(path, ...more);
      if (requests++ == 0) throw new TypeError('offline');
      return Response.json({{collections: [{{title: null}}, {{title}}], next: title == 'Leipzig' ? '/older' : undefined}});
    }}, {forget})""")
    type_words(tab, "lis")
    tab.until("requests == 1", "a request that fails")
    type_words(tab, "lisb")
    tab.until(f"{OPTIONS}.join() == 'Lisbon'", "the place of an older moment")
    type_words(tab, "leip")
    tab.until(f"{OPTIONS}.join() == 'Leipzig'", "the place of a moment")
    tab.run(f"(window.fetch = daemonFetch, {forget})")
    tab.do("document.querySelector('#search input').value = '', document.querySelector('#search').requestSubmit()")
    step("the search completes the places of all moments, also after a failed request")


# The service panel: names, and what their figures look like. A dash is shown for one that is not known.
TIME, SIZE = r"\d+ ms", r"\d+(\.\d)? (bytes|[KMGT]B)"
FIGURES = {
    "Until the degraded frame": TIME, "Until the final frame": TIME,
    "Window": r"\d+–\d+: [1-9]\d* ready, \d+ pending", "Prepared, used": r"\d+, (–|\d+ %)", "From caches": r"\d+ %",
    "Memory in use": f"{SIZE} / {SIZE}", "Frame cache": SIZE, "Resident memory": SIZE, "Waiting renders": r"\d+",
}


def missing_figures(tab):
    shown = dict(tab.run("[...document.querySelectorAll('#panel dl > div')].map(row => [...row.children].map(e => e.textContent))"))
    return [name for name, form in FIGURES.items() if not re.fullmatch(form, shown.get(name, ""))]


def appearance(tab):
    tab.do("document.querySelector('#service').click()")
    # The panel knows a final frame by its size: the picture must be able to fill the screen.
    count = tab.run(COUNT)
    tab.do("document.querySelector('#search input').value = 'pixelWidth > 900', "
           "document.querySelector('#search').requestSubmit()")
    large = "document.querySelector('.cell:not(:has(.video))')"
    tab.until(f"{COUNT} > 0 && {COUNT} != '{count}' && {large}", "large pictures")
    # Frames of another size are in no cache, so a degraded one comes first, unless the final one is as quick.
    for width in range(900, 620, -40):
        tab.resize(width, 820)
        open_cell(tab, large)
        tab.until(f"{PICTURE}?.naturalWidth > 99", "a picture")
        end = time.monotonic() + 5
        while missing_figures(tab) and time.monotonic() < end:
            time.sleep(0.05)
        missing = missing_figures(tab)
        close_viewer(tab)
        if not missing:
            break
    else:
        raise SystemExit(f"the service panel has no {', '.join(missing)}")
    tab.resize(500, 800)
    tab.until(f"innerWidth == 500 && [...document.querySelectorAll('.cell')].every(c => c.matches('.ready'))", "small cells")
    open_cell(tab, large)
    tab.until(f"{PICTURE}?.naturalWidth == 500", "a picture in a small window")
    tab.resize(1600, 1000)
    tab.until(f"{PICTURE}.naturalWidth > 500", "the pixels of a larger window")
    close_viewer(tab)
    tab.until("[...document.querySelectorAll('.cell')].every(c => c.image.naturalHeight >= c.clientHeight)", "thumbnails of a larger window")
    tab.do("document.querySelector('#search input').value = '', document.querySelector('#search').requestSubmit()")
    tab.until(f"{COUNT} > 10", "the end of a search")
    step("a larger window has larger pictures; the service panel has all figures", len(FIGURES))
    for scheme in ["light", "dark"]:
        for width in [360, 1280]:
            tab.resize(width, 900, scheme)
            tab.until(f"innerWidth == {width} && {READY} > 3", "a size")
            accessibility.check(tab, f"the timeline, {scheme}, {width} px")
            if tab.run("document.documentElement.scrollWidth") > width:
                raise SystemExit(f"the page is wider than {width} px")
    step("accessibility and width, light and dark, 360 and 1280 px", accessibility.name)
    tab.do("document.documentElement.dir = 'rtl', dispatchEvent(new Event('resize'))")
    left = lambda index: f"document.querySelector('.cell[data-index=\"{index}\"]').getBoundingClientRect().left"
    tab.until(f"{left(0)} > {left(1)}", "a layout from right to left")
    tab.until("document.documentElement.scrollWidth <= innerWidth", "its width")
    tab.do("document.documentElement.dir = ''")
    tab.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    if tab.run("getComputedStyle(document.querySelector('.cell img')).transitionDuration") != "0s":
        raise SystemExit("pictures fade in with reduced motion")
    tab.resize(1280, 900)
    tab.do("document.querySelector('#service').click()")
    step("right to left, reduced motion")


def reconnect(tab, daemon):
    count = daemon.count
    status = "document.querySelector('#connection').textContent"

    def offline():
        tab.until(status, "the offline status")
        accessibility.check(tab, "the offline status")
        tab.do("document.querySelector('.cell .check').click()")
        tab.do("[...document.querySelectorAll('#selectionBar button')].at(-1).click()")
        tab.until("/^Offline/.test(document.querySelector('#messages p:last-child')?.textContent)", "a change without a connection")
        tab.do("document.querySelector('.cell .check').click()")

    daemon.restart(offline)
    tab.until(f"!{status}", "the end of the offline status")
    write_picture(f"{daemon.library}/later.jpg", 102, 600, 450)
    tab.until(f"{COUNT} == '{count + 1}'", "a change after a restart")
    step("a lost connection is shown, and changes arrive after it")


def other_browser(url):
    if not firefox.program():
        step("Firefox is not installed: skipped")
        return
    tab = firefox.Firefox(f"{work}/firefox", 1280, 900)
    try:
        tab.open(url)
        until(lambda: tab.evaluate(f"{READY} > 8"), "the first pictures in Firefox")
        until(lambda: tab.evaluate(f"!!{cell('burst')}"), "badges in Firefox")
        tab.evaluate("document.querySelector('.cell:has(.badge.hdr)').click()")
        until(lambda: tab.evaluate(f"{PICTURE}?.naturalWidth > 400"), "the viewer in Firefox")
        tab.evaluate("history.back()")
        until(lambda: tab.evaluate("!document.querySelector('#viewer').open && !location.hash"), "Back in Firefox")
        step("Firefox shows the timeline and the viewer, and goes back")
    finally:
        tab.close()


def sign_in(tab, token, is_ready):
    tab.browser.call("Network.clearBrowserCookies")
    tab.open(tab.run("location.origin") + "/")
    tab.until("document.querySelector('#signIn').open", "the sign-in")
    tab.do("document.querySelector('#signIn input').value = 'wrong', document.querySelector('#signIn form').requestSubmit()")
    tab.until("/not valid/.test(document.querySelector('#signIn p').textContent)", "the refusal of a token")
    accessibility.check(tab, "a refused token")
    for _ in range(3):
        tab.key("Escape")
    if not tab.run("document.querySelector('#signIn').open"):
        raise SystemExit("Escape closes the sign-in")
    tab.do(f"document.querySelector('#signIn input').value = '{token}', document.querySelector('#signIn form').requestSubmit()")
    tab.until(f"{is_ready} && !document.querySelector('#signIn').open", "signing in")


def signed_out_editor(tab, token):
    """A session that ends while a picture is edited."""
    panel = "document.querySelector('.editPanel')"
    slide = f"(i => {{ i.value = %s; i.dispatchEvent(new Event('input')) }})({panel}.querySelector('input'))"
    open_cell(tab, "document.querySelector('.cell:not(:has(.badge))')")
    tab.do("[...document.querySelectorAll('.viewerBar button')].find(b => b.title === 'Edit').click()")
    tab.until(f"{panel}?.querySelector('input')", "the editor")
    tab.do(slide % 3)
    tab.until("document.querySelector('.editStage img').naturalWidth > 99", "a preview")
    tab.browser.call("Network.clearBrowserCookies")
    tab.do(slide % 6)
    tab.until("document.querySelector('#signIn').open", "the sign-in above the editor")
    tab.do(f"document.querySelector('#signIn input').value = '{token}', document.querySelector('#signIn form').requestSubmit()")
    tab.until(f"!document.querySelector('#signIn').open && {panel}.querySelector('input').value == 6", "the edits after the sign-in")
    before = tab.run("document.querySelector('.editStage img').src")
    tab.do(slide % 9)
    tab.until(f"document.querySelector('.editStage img').src != {before!r}", "a preview after the sign-in")
    tab.key("Escape")
    tab.until("document.querySelector('#question').open", "a question about edits")
    tab.do("document.querySelector('#question .primary').click()")
    tab.until(f"!{panel}", "the picture after Escape")
    step("edits outlive the session")


def callers(tab, daemon):
    tokens = {}

    def make_tokens():
        tokens.update((scope, daemon.token(scope)) for scope in ["read,write", "read", "read,people", "add", "read,add"])
        tokens["limited"] = daemon.token("read,write", "--limit-to", "Norway")

    # A daemon that runs looks for commits of other processes once a second; at its start it knows all tokens.
    daemon.restart(make_tokens)
    until(daemon.needs_token, "the need for a token")
    if screenshots:
        tab.browser.call("Network.clearBrowserCookies")
        tab.open(daemon.url + "/")
        tab.until("document.querySelector('#signIn').open", "the sign-in")
        Screens(tab, screenshots).take("sign-in")
    hidden = lambda selector: tab.run(f"!document.querySelector('{selector}')?.checkVisibility()")
    sign_in(tab, tokens["add"], "document.querySelector('.empty').textContent")
    if hidden("#add") or not hidden("#search") or not hidden("#sidebar"):
        raise SystemExit("an add-only caller sees the wrong controls")
    step("an add-only caller may add, and sees nothing else")
    sign_in(tab, tokens["read"], f"{READY} > 4")
    open_cell(tab, "document.querySelector('.cell')")
    if not hidden("#add") or not hidden("[aria-label=Delete]") or not hidden("#sidebar h2 .small"):
        raise SystemExit("a reader sees controls of writers")
    step("a reader sees no controls that change anything")
    sign_in(tab, tokens["read,add"], f"{READY} > 4 && {row('Norway')}")
    tab.do(f"{row('Norway')}.querySelector('.open').click()")
    tab.until(f"{COUNT} == '2'", "an album")
    write_picture(f"{work}/added.jpg", 106, 600, 450)
    tab.choose_files(f"{work}/added.jpg")
    tab.until("document.querySelector('#uploads').textContent == '1 photograph added.'", "an upload beside an album")
    # The next user does not go on with it.
    tab.browser.call("Network.setBlockedURLs", urls=["*/v1/uploads/*"])
    tab.choose_files(f"{work}/resumed.jpg")
    tab.until("performance.getEntriesByType('resource').filter(e => /uploads[/].*/.test(e.name)).length > 2", "an upload's beginning")
    tab.do("window.isLeft = true, document.querySelector('#signOut').click()")
    tab.until("!window.isLeft && document.querySelector('#signIn')?.open", "signing out")
    tab.browser.call("Network.setBlockedURLs", urls=[])
    sign_in(tab, tokens["read,add"], f"{READY} > 4")
    write_picture(f"{work}/next.jpg", 107, 600, 450)
    tab.choose_files(f"{work}/next.jpg")
    tab.until("document.querySelector('#uploads').textContent == '1 photograph added.'", "an upload of the next user")
    step("uploads need no right to change an album, and end with the session that is signed out")
    sign_in(tab, tokens["limited"], f"{COUNT} == '2' && {READY} == 2")
    tab.until(f"{row('Norway')} && {row('Library')}.querySelector('.number').textContent == '2'", "the albums of a limited caller")
    if not hidden("#sidebar h2 .small"):
        raise SystemExit("a limited caller is offered new albums, which are refused")
    step("a caller who is limited to an album sees its two pictures as the library, and makes no albums")
    sign_in(tab, tokens["read,write"], f"{READY} > 4")
    step("a token signs in")
    signed_out_editor(tab, tokens["read,write"])
    daemon.settings = {"PHOTOD_NAMES_NEED_SCOPE": "true"}
    daemon.restart(lambda: None)
    for scope, knows in [("read", False), ("read,people", True)]:
        sign_in(tab, tokens[scope], f"{READY} > 4")
        type_words(tab, "ad")
        tab.until(f"{OPTIONS}.includes('addedDate')", "completions")
        words = tab.run(OPTIONS)
        open_named(tab)
        chips = tab.run("[...document.querySelectorAll('.chips button')].map(b => b.textContent)")
        close_viewer(tab)
        if [("Ada Lovelace" in words), ("Ada Lovelace" in chips)] != [knows, knows]:
            raise SystemExit(f"names are known {not knows}: {words}, {chips}")
    step("names of people are completed and shown for callers who may know them")


def time_zone(tab):
    """Pictures without an offset are shown in the library's time zone, as they are grouped."""
    library = f"{work}/zoned"
    os.mkdir(library)
    write_picture(f"{library}/eve.jpg", 120, 300, 225)
    os.utime(f"{library}/eve.jpg", (1_617_238_800, 1_617_238_800))  # 2021-04-01T01:00:00Z
    daemon = Daemon(photod, library, {"PHOTOD_TIME_ZONE": "America/New_York"})
    tab.open(daemon.url + "/")
    tab.until(f"{READY} == 1 && {row('March 31, 2021')}", "a picture and its moment")
    names = tab.run("[document.querySelector('.canvas h2').textContent, document.querySelector('.cell').ariaLabel]")
    open_cell(tab, "document.querySelector('.cell')")
    names.append(tab.run("document.querySelector('.viewerBar p').textContent.replace(/\\s/g, ' ')"))
    if names != ["March 2021", "Photograph of March 31, 2021", "Wednesday, March 31, 2021 at 9:00 PM"]:
        raise SystemExit(f"in the library's time zone: {names}")
    close_viewer(tab)
    daemon.stop()
    step("times are those of the library's time zone")


def take_screenshots(tab):
    screens = Screens(tab, screenshots)
    screens.library()
    write_picture(f"{work}/large.jpg", 103, 6000, 4000)
    screens.upload(f"{work}/large.jpg")
    step("screenshots", screenshots)


def main():
    Tab.screenshots = screenshots
    make_library(f"{work}/library")
    step("a library is made")
    daemon = Daemon(photod, f"{work}/library")
    one, two = Tab(f"{work}/one", daemon.url + "/"), Tab(f"{work}/two", daemon.url + "/")
    timeline(one, two)
    favourite = viewer(one, two)
    links.tiles(one, step)
    links.links(one, daemon, step)
    editor(one, daemon)
    hidden_tab(one, two)
    kinds(one)
    elsewhere(one, two, daemon)
    albums(one, two, daemon)
    selection(one)
    selection_of_changing_list(one, daemon)
    burst_deletion(one, daemon)
    parts(one)
    download(one)
    deletion(one, daemon)
    hiding(one, daemon)
    search(one, favourite)
    appearance(one)
    if screenshots:
        take_screenshots(two)
    other_browser(daemon.url + "/")
    reconnect(one, daemon)
    callers(two, daemon)
    time_zone(two)
    for tab in [one, two]:
        tab.close()
    daemon.stop()


main()
