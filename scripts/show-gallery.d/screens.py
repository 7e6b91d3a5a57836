# Screenshots of every part of the page, narrow and wide, light and dark: for people to look at.
import os

SIZES = [(360, 740), (1600, 1000), (2560, 1440)]
IS_SETTLED = ("[...document.querySelectorAll('.cell')].every(c => c.matches('.ready, .missing'))"
              " && document.getAnimations().every(a => a.playState == 'finished' || a.effect.getTiming().iterations == Infinity)")


class Screens:
    """`folder` gets files named after the part, the width and the scheme."""

    def __init__(self, tab, folder):
        self.tab, self.folder = tab, folder
        os.makedirs(folder, exist_ok=True)

    def take(self, part, is_ready="true"):
        for width, height in SIZES:
            for scheme in ["light", "dark"]:
                self.tab.resize(width, height, scheme)
                self.tab.until(f"innerWidth == {width} && {IS_SETTLED} && ({is_ready})", f"a screen: {part}")
                with open(f"{self.folder}/{part}-{width}-{scheme}.png", "wb") as file:
                    file.write(self.tab.browser.screenshot())
        self.tab.resize(1280, 900)

    def library(self):
        """All parts that a caller with full rights sees. The page shows the library."""
        tab = self.tab
        picture = "document.querySelector('#viewer .picture')?.naturalWidth > 300"
        self.take("timeline")
        tab.do("document.querySelectorAll('.cell .check')[1].click(), document.querySelectorAll('.cell .check')[2].click()")
        self.take("selection")
        tab.key("Escape")
        tab.do("document.querySelector('#service').click()")
        tab.until("/\\d ready/.test(document.querySelector('#panel').textContent)", "figures")
        self.take("service")
        tab.do("document.querySelector('#service').click()")
        tab.do("document.querySelector('#sidebar').showPopover()")
        self.take("albums")
        tab.do("document.querySelector('#sidebar').hidePopover()")
        tab.do("document.querySelector('#search input').focus()")
        tab.browser.call("Input.insertText", text="ad")
        tab.until("document.querySelectorAll('#words > *').length > 0", "completions")
        self.take("search", "document.querySelectorAll('#words > *').length > 0")
        tab.do("document.querySelector('#search input').value = 'nothing at all', document.querySelector('#search').requestSubmit()")
        tab.until("!document.querySelector('.cell') && !document.querySelector('.empty').hidden", "no result")
        self.take("empty")
        tab.do("document.querySelector('#search input').value = '', document.querySelector('#search').requestSubmit()")
        tab.until("document.querySelectorAll('.cell.ready').length > 3", "the library")
        tab.do("document.querySelector('.cell:not(:has(.badge.video))').click()")
        tab.until(picture, "a picture")
        self.take("viewer", picture)
        tab.key("i")
        tab.until("document.querySelector('.details')?.childElementCount > 2", "details")
        self.take("details", picture)
        tab.key("i")
        tab.do("[...document.querySelectorAll('.viewerBar button')].find(b => b.title == 'Edit').click()")
        tab.until("document.querySelector('.editStage img')?.naturalWidth > 99", "a preview")
        tab.do("[...document.querySelectorAll('.editPanel button')].find(b => b.textContent == 'Crop').click()")
        self.take("editor", "document.querySelector('.editStage img')?.naturalWidth > 99")
        tab.do("[...document.querySelectorAll('.editPanel button')].find(b => b.textContent == 'Cancel').click()")
        tab.do("document.querySelector('#viewer').close()")

    def upload(self, path):
        """A file whose first piece has arrived, and the rest not yet."""
        tab = self.tab
        tab.browser.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=150_000)
        tab.choose_files(path)
        tab.until("document.querySelector('#uploads').checkVisibility()", "an upload")
        self.take("upload", "document.querySelector('#uploads').checkVisibility()")
        tab.browser.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        tab.until("!document.querySelector('#uploads').checkVisibility()", "the end of an upload")
