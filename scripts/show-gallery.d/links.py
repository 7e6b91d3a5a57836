# Addresses of views, the browser's Back and Forward, and the pixels of tiles: for show.py.
import re

OPEN = "document.querySelector('#viewer').open"
COUNT = "document.querySelector('#count').textContent.replace(/\\D/g, '')"
READY = "document.querySelectorAll('.cell.ready').length"
TITLE = "document.querySelector('#title').textContent"
SCROLL = "document.querySelector('#timeline').scrollTop"
SHOWN = "document.querySelector('#viewer .picture, #viewer video')?.src.match(/assets.([^/]+)/)[1]"
MESSAGES = "document.querySelector('#messages').textContent"
LINKED = "new URLSearchParams(location.hash.slice(1)).get('%s')"


def demand(condition, what):
    if not condition:
        raise SystemExit(f"wrong: {what}")


def click(tab, cell):
    """A real click, in the part of a picture that is on the screen."""
    x, y = tab.run(f"(b => [b.left + b.width / 2, Math.max(b.top, 60) + 40])({cell}.getBoundingClientRect())")
    tab.mouse("mousePressed", x, y)
    tab.mouse("mouseReleased", x, y)


def links(tab, daemon, step):
    tab.open(daemon.url + "/")
    tab.until(f"{READY} > 5 && document.querySelectorAll('.collection').length > 3", "the library")
    in_viewer(tab, step)
    lists(tab, daemon, step)
    missing(tab, daemon, step)


def in_viewer(tab, step):
    """Back closes the viewer and Forward opens it, with the grid at its scroll position; arrow keys add no history."""
    tab.do(f"{SCROLL} = 333")
    # A cell that the bar partly covers.
    cut = "[...document.querySelectorAll('.cell')].find(c => (b => b.top < 56 && b.bottom > 110)(c.getBoundingClientRect()))"
    tab.until(f"{SCROLL} == 333 && {cut}", "a scroll")
    click(tab, cut)
    tab.until(f"{OPEN} && {SHOWN}", "the viewer")
    first = tab.run(SHOWN)
    tab.until(f"{LINKED % 'asset'} == '{first}'", "the address of a picture")
    entries = tab.run("history.length")
    for _ in range(3):
        tab.key("ArrowRight")
    tab.until(f"{SHOWN} != '{first}' && {LINKED % 'asset'} == {SHOWN} && history.length == {entries}",
              "the address after arrow keys")
    for _ in range(3):
        tab.key("ArrowLeft")
    tab.until(f"{LINKED % 'asset'} == '{first}'", "the first picture")
    tab.do("history.back()")
    tab.until(f"!{OPEN} && !location.hash && document.activeElement.closest('.cell')", "Back")
    demand(tab.run(SCROLL) == 333, f"the grid is at {tab.run(SCROLL)}, not at 333")
    tab.do("history.forward()")
    tab.until(f"{OPEN} && {SHOWN} == '{first}'", "Forward")
    for _ in range(2):
        tab.key("Escape")
    tab.until(f"!{OPEN} && !location.hash", "Escape goes back once")
    tab.do("history.forward()")
    tab.until(f"{OPEN} && {SHOWN} == '{first}'", "Forward after Escape")
    tab.key("End")
    tab.until(f"{SHOWN} != '{first}' && {LINKED % 'asset'} == {SHOWN}", "the address of the last picture")
    last = tab.run(SHOWN)
    tab.do("window.isLeft = true")
    tab.browser.call("Page.reload")
    tab.until(f"!window.isLeft && document.readyState == 'complete' && {OPEN} && {SHOWN} == '{last}'", "the same picture after a reload")
    tab.key("Escape")
    tab.until(f"!{OPEN} && !location.hash && {READY} > 3", "the grid after a reload")
    step("Back and Forward close and open the viewer, at the scroll of the grid")


def lists(tab, daemon, step):
    """Each list has an address, also to paste; Back returns to the list before, at its scroll position."""
    tab.do(f"{SCROLL} = 300")
    # The page writes the position to the history some frames later.
    tab.until(f"{SCROLL} == 300 && history.state?.top == 300", "a scroll")
    smart = "[...document.querySelectorAll('#sidebar .collection')].find(r => r.querySelector('.name').textContent == '%s')"
    tab.until(smart % "Favorites", "the sidebar")
    tab.do(f"{smart % 'Favorites'}.querySelector('.open').click()")
    tab.until(f"{TITLE} == 'Favorites' && {COUNT} == '1' && {READY} == 1", "the favourites")
    collection = tab.run(LINKED % "collection")
    demand(collection, "the favourites have no address")
    tab.do("document.querySelector('.cell').click()")
    tab.until(f"{OPEN} && {SHOWN}", "a favourite")
    link = tab.run("location.href")
    tab.do("document.querySelector('#search input').value = 'isRAW == YES', document.querySelector('#search').requestSubmit()")
    tab.until(f"!{OPEN} && {LINKED % 'search'} == 'isRAW == YES' && {COUNT} == '0'", "a search")
    for _ in range(2):
        tab.do("history.back()")
    tab.until(f"!{OPEN} && {TITLE} == 'Favorites' && {COUNT} == '1'", "Back to the favourites")
    demand(tab.run("document.querySelector('#search input').value") == "", "the search field keeps words of another view")
    tab.do("history.back()")
    tab.until(f"{TITLE} == 'Library' && {COUNT} > 10 && {SCROLL} == 300", "Back to the library, at its scroll")
    # Forward twice, before the list has arrived.
    tab.do("window.original = fetch, window.fetch = async (...request) => { "
           "if (request[0] == '/v1/fetchResults') await new Promise(resolve => window.release = resolve); return original(...request) }")
    tab.do("history.forward()")
    tab.until("window.release", "the request of a list")
    tab.do("history.forward()")
    tab.until(f"{LINKED % 'asset'}", "the address of a picture of the list")
    demand(not tab.run(OPEN), "a picture is shown in the list before")
    tab.do("window.fetch = original, release()")
    tab.until(f"{OPEN} && {COUNT} == '1' && {SHOWN} == {LINKED % 'asset'}", "a picture of the list")
    for _ in range(2):
        tab.do("history.back()")
    tab.until(f"{TITLE} == 'Library' && {COUNT} > 10 && !{OPEN}", "Back to the library again")
    for fragment, count in [(f"#collection={collection}", "1"), ("#search=isFavorite+%3D%3D+YES", "1")]:
        tab.open("about:blank")
        tab.open(f"{daemon.url}/{fragment}")
        tab.until(f"{COUNT} == '{count}' && {READY} == {count} && !{OPEN}", f"a pasted address: {fragment}")
    # Also in a page that is already open.
    tab.do(f"location.href = '{link}'")
    tab.until(f"{OPEN} && {TITLE} == 'Favorites' && {SHOWN} == '{link.split('asset=')[1]}'", "an address pasted into an open page")
    tab.do("document.querySelector('[aria-label=Close]').click()")
    tab.until(f"!{OPEN} && {LINKED % 'collection'} == '{collection}' && !{LINKED % 'asset'}", "the favourites below a linked picture")
    step("each list has an address; Back returns to the list before")


def missing(tab, daemon, step):
    """A link may name an asset or a collection that no longer exists."""
    tab.open("about:blank")
    tab.open(daemon.url + "/#asset=00000000-0000-0000-0000-000000000000")
    tab.until(f"{READY} > 5 && /not here/.test({MESSAGES})", "a message about a picture that is not there")
    tab.until(f"!{OPEN} && !location.hash", "the address of the grid")
    tab.open("about:blank")
    tab.open(daemon.url + "/#collection=00000000-0000-0000-0000-000000000000")
    tab.until("/No collection/.test(document.querySelector('.empty:has(button)')?.textContent)", "a message about a missing collection")
    tab.do("document.querySelector('.empty button').click()")
    tab.until(f"{READY} > 5 && !location.hash", "the library")
    step("a link to what is not there says so")
    tab.browser.call("Network.setBlockedURLs", urls=["*type=moment&*"])
    tab.open("about:blank")
    tab.open(daemon.url + "/")
    tab.until("document.querySelectorAll('.collection').length > 3", "a sidebar without moments")
    step("the sidebar shows albums when moments can't be listed")
    tab.browser.call("Network.setBlockedURLs", urls=["*predicate=isRAW*"])
    tab.open("about:blank")
    tab.open(daemon.url + "/")
    tab.until(f"{READY} > 5 && {MESSAGES}", "pictures whose kinds can't be listed")
    demand(tab.run("document.querySelector('.empty').hidden"), "a failure takes the place of pictures")
    tab.browser.call("Network.setBlockedURLs", urls=["*/v1/authorization"])
    tab.open("about:blank")
    tab.open(daemon.url + "/")
    tab.until("document.querySelector('.empty button')?.textContent == 'Try again'", "a failure of the authorization")
    demand(not tab.run("document.querySelector('#signIn').open"), "a failure asks for a token")
    tab.browser.call("Network.setBlockedURLs", urls=[])
    tab.do("document.querySelector('.empty button').click()")
    tab.until(f"{READY} > 5", "the library after another try")
    step("failures of the authorization and of kinds are named, and the page goes on")


def tiles(tab, step):
    """However far a picture is zoomed in, tiles have no more pixels than the original, and none are cut off."""
    tab.resize(500, 400)
    large = "[...document.querySelectorAll('.cell')].find(c => c.asset.creationDate < '2021' && c.asset.aspectRatio > 1.7)"
    tab.until(f"innerWidth == 500 && ({SCROLL} = 1e6) && {large}", "a picture")
    tab.do(f"{large}.click()")
    tab.until(f"{SHOWN} && document.querySelector('#viewer .picture').naturalWidth", "its frame")
    asset = tab.run(SHOWN)
    size = tab.run(f"fetch('/v1/assets/{asset}').then(r => r.json()).then(a => [a.pixelWidth, a.pixelHeight])")
    for _ in range(8):
        tab.key("+")
    drawn = "[...document.querySelectorAll('#viewer .tile[data-part]')]"
    tab.until(f"{drawn}.length > 0 && {drawn}.every(t => t.complete && t.naturalWidth)", "tiles")
    for url, *natural in tab.run(f"{drawn}.map(t => [t.src, t.naturalWidth, t.naturalHeight])"):
        shares = [float(share) for share in re.search(r"normalizedCropRect=([^&]+)", url).group(1).split("%2C")[2:]]
        asked = [int(side) for side in re.search(r"targetSize=(\d+)x(\d+)", url).groups()]
        for side, share, pixels, got in zip(asked, shares, size, natural):
            demand(side <= share * pixels + 1, f"{side} pixels are asked for {share * pixels:.1f} of the original")
            demand(abs(got - share * pixels) <= 2, f"a tile has {got} pixels for {share * pixels:.1f} of the original")
    tab.key("Escape")
    tab.until(f"!{OPEN}", "the grid")
    tab.resize(1280, 900)
    step("tiles have the original's pixels and no more", "x".join(map(str, size)))
