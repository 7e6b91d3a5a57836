// The page: who may do what, which list is shown, and how the other modules work together.

import { json, request, rights } from "./api.js"
import { AssetList, PAGE } from "./assets.js"
import { report, signIn } from "./dialogs.js"
import { $, button, drawIcon, on, page } from "./dom.js"
import * as panel from "./panel.js"
import "./scrubber.js"
import { searchFor, searchedSource, searchedWords } from "./search.js"
import "./selection.js"
import * as sidebar from "./sidebar.js"
import { text, translate } from "./strings.js"
import * as timeline from "./timeline.js"
import * as uploads from "./uploads.js"
import * as viewer from "./viewer.js"

const { body } = document
let list = null

translate()
for (const element of document.querySelectorAll("#bar .icon")) drawIcon(element, element.dataset.label)
const needSession = () => signIn(() => { localStorage.signedIn = true; start() })
on(page, "signedOut", needSession)
start()

async function start() {
  $("signOut").hidden = !localStorage.signedIn
  const { scopes } = await json("/v1/authorization").catch(() => ({ scopes: [] }))
  rights.canRead = scopes.includes("read")
  rights.canWrite = scopes.includes("write")
  rights.canAdd = rights.canWrite || scopes.includes("add")
  $("add").hidden = !rights.canAdd
  body.classList.toggle("addOnly", !rights.canRead)
  if (scopes.length === 0) return needSession()
  if (rights.canAdd) uploads.resume()
  if (!rights.canRead) {
    $("title").textContent = document.title = text("addPhotos")
    return timeline.say(text("localOnly"), addButton())
  }
  sidebar.load().catch(report)
  await showList()
}

// The list

const PRIMARY = { className: "primary" }
const chooseFiles = () => $("files").click()
const addButton = () => button(text("addPhotos"), chooseFiles, PRIMARY)

/// Shows what is searched for in the collection that the sidebar shows.
async function showList() {
  list?.close()
  const { shown: collection } = sidebar
  const shown = list = new AssetList({
    ...searchedSource(), collection: collection?.localIdentifier, isAlbum: collection?.type === "album",
    includeHiddenAssets: collection?.subtype === "smartAlbumAllHidden" || undefined,
  })
  $("title").textContent = collection?.title || text("allPhotos")
  document.title = searchedWords() || $("title").textContent
  $("count").textContent = ""
  timeline.say(text("loading"))
  const whileShown = (type, action) => on(shown, type, () => { if (shown === list) action() })
  const present = () => {
    const { count } = list.handle, search = searchedWords()
    timeline.show(list)
    $("count").textContent = count.toLocaleString()
    if (count > 0) timeline.say("")
    else if (search) timeline.say(text("noMatch", { search }), button(text("searchEnd"), () => searchFor(""), PRIMARY))
    else timeline.say(text("empty"), ...(rights.canAdd ? [addButton()] : []))
  }
  // The first page is shown while the others are loaded.
  whileShown("page", () => { if (list.items.length === Math.min(list.handle.count, PAGE)) present() })
  whileShown("loaded", present)
  whileShown("change", () => { present(); viewer.refresh() })
  whileShown("kinds", timeline.markAll)
  whileShown("offline", () => { $("connection").textContent = text("connectionLost") })
  whileShown("online", () => {
    $("connection").textContent = ""
    timeline.retry()
    viewer.retry()
  })
  // The former pictures stay for a moment, so that nothing flickers, but not below another list's title.
  const clear = () => { if (shown === list && timeline.list !== shown) timeline.show(shown) }
  setTimeout(clear, 300)
  try {
    await shown.load()
  } catch (error) {
    clear()
    timeline.say(error.message)
    report(error)
  }
}

on(page, "open", ({ detail }) => viewer.open(detail))
on(page, "search", showList)
on(page, "searchLeft", () => timeline.focus(0, false))
on(page, "collection", () => {
  showSidebar(false)
  searchFor("")
})

// Adding files

on($("add"), "click", chooseFiles)
on($("files"), "change", ({ target }) => { uploads.add(target.files); target.value = "" })
const hasFiles = ({ dataTransfer }) => rights.canAdd && dataTransfer.types.includes("Files")
on(window, "dragover", (event) => {
  if (!hasFiles(event)) return
  event.preventDefault()
  body.classList.add("dropping")
})
on(window, "dragleave", ({ relatedTarget }) => { if (!relatedTarget) body.classList.remove("dropping") })
on(window, "drop", (event) => {
  body.classList.remove("dropping")
  if (!hasFiles(event)) return
  event.preventDefault()
  uploads.add(event.dataTransfer.files)
})

// The bar

function showSidebar(isShown) {
  body.classList.toggle("withSidebar", isShown)
  $("menu").ariaExpanded = isShown
}
const hasSidebar = () => body.classList.contains("withSidebar")
on($("menu"), "click", () => {
  showSidebar(!hasSidebar())
  if (hasSidebar()) $("sidebar").querySelector("button")?.focus()
})
on(window, "keydown", ({ key }) => {
  if (key !== "Escape" || !hasSidebar()) return
  showSidebar(false)
  $("menu").focus()
})
// A click beside the open sidebar only closes it.
on($("timeline"), "click", (event) => {
  if (!hasSidebar()) return
  event.stopPropagation()
  showSidebar(false)
}, true)
on($("service"), "click", () => { $("service").ariaPressed = panel.toggle() })
on($("signOut"), "click", async () => {
  await request("/v1/session", { method: "DELETE" }).catch(() => {})
  delete localStorage.signedIn
  location.reload()
})
