// The page: permissions, the list, and what joins the modules.

import { address, entry, visit } from "./address.js"
import { json, request, rights } from "./api.js"
import { AssetList } from "./fetchresult.js"
import { report, signIn } from "./dialogs.js"
import { $, all, button, drawIcon, on, page } from "./dom.js"
import { hasEdits } from "./edit.js"
import "./panel.js"
import { searchFor, showWords, sourceOf } from "./search.js"
import "./selection.js"
import * as sidebar from "./sidebar.js"
import { setTimeZone, text, translate } from "./strings.js"
import * as timeline from "./timeline.js"
import * as uploads from "./uploads.js"
import * as viewer from "./viewer.js"

/// What the list shows: {collection, search} of the address.
let view = null
let list = null

translate()
for (const element of all("#bar .icon")) drawIcon(element, element.dataset.label)
const needSession = () => signIn(() => { localStorage.signedIn = true; start() })
on(page, "signedOut", needSession)
on(page, "address", follow)
on(page, "collections", drawTitle)
// Shown again, it says so.
on(page, "deleted", () => { view = null; follow() })
start()

async function start() {
  $("signOut").hidden = !localStorage.signedIn
  const answer = await json("/v1/authorization").catch((error) => error), { scopes = [], message, timeZone, collections } = answer
  if (message && answer.status !== 401) return timeline.say(message, primary("tryAgain", start))
  const [canRead, canWrite, canAdd] = ["read", "write", "add"].map((scope) => scopes.includes(scope))
  // Without a token, only the local administrator may sign.
  const canSign = Boolean(localStorage.signedIn) || scopes.includes("admin")
  Object.assign(rights, { canRead, canWrite, canAdd: canAdd || canWrite, canCreate: canWrite && !collections, canSign })
  if (timeZone) setTimeZone(timeZone)
  $("add").hidden = !rights.canAdd
  document.body.classList.toggle("addOnly", !rights.canRead)
  if (scopes.length === 0) return needSession()
  if (rights.canAdd) uploads.resume(true)
  if (!rights.canRead) {
    $("title").textContent = document.title = text("addPhotographs")
    return timeline.say(text("localOnly"), addButton())
  }
  sidebar.load().catch(report)
  // After another sign-in, the list finds back by itself.
  if (hasEdits) return
  view = null
  follow()
}

const primary = (key, action) => button(text(key), action, { className: "primary" })
const chooseFiles = () => $("files").click()
const addButton = () => primary("addPhotographs", chooseFiles)

function follow() {
  if (!rights.canRead) return
  $("question").close()
  $("sidebar").hidePopover()
  const { collection, search } = address
  if (view && view.collection === collection && view.search === search) viewer.follow()
  else showList({ collection, search })
}

async function showList(wanted) {
  const { collection, search } = view = wanted
  let { top } = entry
  list?.close()
  viewer.close()
  showWords(search)
  $("count").textContent = ""
  timeline.say(text("loading"))
  // Against flicker.
  const clear = () => { if (timeline.list?.isClosed) timeline.show(null) }
  setTimeout(clear, 300)
  try {
    const { type, subtype } = await sidebar.show(collection) ?? {}
    if (view !== wanted) return
    drawTitle()
    list = new AssetList({
      ...sourceOf(search), collection, hasOwnOrder: (type === "album" && !search) || subtype === "smartAlbumRecentlyAdded",
      includeHiddenAssets: subtype === "smartAlbumAllHidden" || undefined,
    })
    const present = () => {
      const { count } = list.handle
      timeline.show(list)
      // As the view was left, as soon as the list is that long.
      if (top && timeline.layout.height > top) top = void (timeline.element.scrollTop = top)
      $("count").textContent = count.toLocaleString()
      if (count > 0) timeline.say("")
      else if (search) timeline.say(text("noMatch", { search }), primary("showEverything", () => searchFor("")))
      else timeline.say(text("empty"), ...(rights.canAdd ? [addButton()] : []))
    }
    on(list, "page", () => { present(); viewer.follow(false) })
    on(list, "loaded", present)
    on(list, "loaded", () => viewer.follow(), { once: true })
    on(list, "change", () => { present(); viewer.refresh() })
    on(list, "kinds", () => { timeline.markAll(); viewer.showKinds() })
    on(list, "offline", () => { $("connection").textContent = text("connectionLost") })
    on(list, "online", () => {
      $("connection").textContent = ""
      timeline.retry()
      viewer.retry()
      if (rights.canAdd) uploads.resume()
    })
    await list.load()
  } catch (error) {
    if (view !== wanted) return
    // The same address may be tried again.
    view = null
    clear()
    timeline.say(error.message, primary("showEverything", () => visit({ collection: null, search: null })))
  }
}

function drawTitle() {
  $("title").textContent = sidebar.shown?.title || text("library")
  document.title = address.search || $("title").textContent
}

on($("add"), "click", chooseFiles)
on($("files"), "change", ({ target }) => { uploads.add(target.files); target.value = "" })
on(window, "dragover dragleave drop", (event) => {
  const { type, dataTransfer, relatedTarget } = event
  if (!rights.canAdd || !dataTransfer.types.includes("Files")) return
  event.preventDefault()
  document.body.classList.toggle("dropping", type === "dragover" || (type === "dragleave" && !!relatedTarget))
  if (type === "drop") uploads.add(dataTransfer.files)
})

on($("skip"), "click", () => timeline.element.focus())
on($("signOut"), "click", async () => {
  await request("/v1/session", { method: "DELETE" }).catch(() => {})
  delete localStorage.signedIn
  await uploads.forget()
  location.reload()
})
