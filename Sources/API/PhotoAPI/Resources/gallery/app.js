// The page: who may do what, which list is shown, and what the bar's buttons do. The parts are in their own modules.

import { Failure, change, json, post, query, request, whenSignedOut } from "/gallery/api.js"
import { AssetList } from "/gallery/assets.js"
import { Panel } from "/gallery/panel.js"
import { Scrubber } from "/gallery/scrubber.js"
import { DRAGGED, Sidebar } from "/gallery/sidebar.js"
import { text, translate } from "/gallery/strings.js"
import { Timeline } from "/gallery/timeline.js"
import { Uploads } from "/gallery/uploads.js"
import { Viewer } from "/gallery/viewer.js"

/// Properties of assets, and operators: what the search field completes.
const PREDICATE_WORDS = [
  "addedDate", "burstIdentifier", "cameraMake", "cameraModel", "caption", "creationDate", "duration", "fileSize",
  "isAnimated", "isFavorite", "isHidden", "isLongExposure", "isRAW", "isSelfPortrait", "keywords", "latitude", "lensModel",
  "longitude", "mediaSubtypes", "mediaType", "modificationDate", "originalFilename", "pixelHeight", "pixelWidth", "rating",
  "relativePath", "title", "uniformTypeIdentifier", "AND", "BEGINSWITH[cd]", "BETWEEN", "CONTAINS[cd]", "ENDSWITH[cd]",
  "LIKE[cd]", "NOT", "photoDepthEffect", "photoHDR", "photoLive", "photoPanorama", "photoScreenshot",
]
const $ = (id) => document.getElementById(id)
const rights = { canRead: false, canAdd: false, canWrite: false, hasSession: false }
const timeline = new Timeline($("timeline"))
const viewer = new Viewer($("viewer"), timeline, rights)
const sidebar = new Sidebar($("sidebar"), rights, ask)
const panel = new Panel($("panel"), timeline, viewer)
const uploads = new Uploads($("uploads"), () => (sidebar.selected?.type === "album" ? sidebar.selected.localIdentifier : null))
let list = null
/// Places of moments, for the search field.
let places = null

translate(document)
new Scrubber($("scrubber"), timeline)
whenSignedOut(signIn)
start()

async function start() {
  const { status, scopes } = await json("/v1/authorization").catch(() => ({ status: "denied", scopes: [] }))
  rights.canRead = scopes.includes("read")
  rights.canAdd = scopes.includes("add") || scopes.includes("write")
  rights.canWrite = scopes.includes("write")
  timeline.canDrag = rights.canWrite
  $("add").hidden = !rights.canAdd
  document.body.classList.toggle("addOnly", !rights.canRead)
  if (rights.canAdd) uploads.resume()
  if (status === "notDetermined" || status === "denied" || scopes.length === 0) return signIn()
  if (!rights.canRead) {
    $("title").textContent = document.title = text("addPhotos")
    timeline.say(text("localOnly"))
    return
  }
  sidebar.load().catch(report)
  await show({})
}

// The list

async function show(source, title = text("allPhotos")) {
  list?.close()
  const shown = list = new AssetList(source)
  $("title").textContent = document.title = title
  $("count").textContent = ""
  timeline.say(text("loading"))
  shown.addEventListener("page", () => { if (shown.assets.length === Math.min(shown.count, 10000)) present(shown) })
  shown.addEventListener("change", () => { if (shown === list) { timeline.relayout(); viewer.refresh(); describe() } })
  shown.addEventListener("kinds", () => { if (shown === list) timeline.mark() })
  shown.addEventListener("offline", () => { $("connection").textContent = text("connectionLost") })
  shown.addEventListener("online", () => { $("connection").textContent = "" })
  shown.addEventListener("failure", (event) => report(event.detail))
  try {
    await shown.load()
    if (shown === list) present(shown)
  } catch (error) {
    timeline.say(error.message)
    report(error)
  }
}

function present(shown) {
  if (shown !== list) return
  if (timeline.shown === shown) timeline.relayout()
  else timeline.show(shown)
  timeline.shown = shown
  describe()
}

function describe() {
  $("count").textContent = list.count.toLocaleString()
  const { search, predicate } = list.source
  timeline.say(list.count > 0 ? "" : search || predicate ? text("noMatch", { search: search ?? predicate }) : text("empty"))
}

sidebar.addEventListener("open", (event) => {
  document.body.classList.remove("withSidebar")
  $("menu").setAttribute("aria-expanded", "false")
  const collection = event.detail
  show(collection ? sourceOf(collection) : {}, collection?.title ?? text("allPhotos"))
})

const sourceOf = ({ localIdentifier, type, subtype }) => ({
  collection: localIdentifier, isAlbum: type === "album",
  ...(subtype === "smartAlbumAllHidden" ? { includeHiddenAssets: true } : {}),
})

sidebar.addEventListener("failure", (event) => report(event.detail))

/// Words are a search. What looks like a predicate is one.
$("search").addEventListener("submit", (event) => {
  event.preventDefault()
  const words = event.target.search.value.trim()
  const isPredicate = /[=<>]|\b(BEGINSWITH|CONTAINS|ENDSWITH|LIKE|IN|BETWEEN)\b/.test(words)
  const source = words === "" ? {} : isPredicate ? { predicate: words } : { search: words }
  if (sidebar.selected) Object.assign(source, sourceOf(sidebar.selected))
  show(source, words || sidebar.selected?.title || text("allPhotos"))
})
$("search").addEventListener("input", (event) => {
  const value = event.target.value
  if (value === "") $("search").requestSubmit()
  // The last word is completed with those of the predicate language.
  const [, before, word] = value.match(/^(.*?)(\w*)$/s)
  const starts = (name) => name.toLowerCase().startsWith(word.toLowerCase())
  const found = word.length < 2 ? [] : [...PREDICATE_WORDS, ...places ?? []].filter(starts)
  $("words").replaceChildren(...found.map((name) => Object.assign(document.createElement("option"), { value: before + name })))
})

/// Moments are named after their places, for those who may know them.
$("search").addEventListener("focusin", async () => {
  if (places) return
  places = []
  const moments = await json(`/v1/collections?${query({ type: "moment", limit: 1000 })}`).catch(() => ({ collections: [] }))
  places = [...new Set(moments.collections.flatMap(({ title }) => title?.split(/, | & /) ?? []))]
})
$("search").addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return
  event.target.value = ""
  $("search").requestSubmit()
  timeline.focus(0, false)
})

// The viewer

timeline.addEventListener("open", (event) => viewer.open(event.detail))
viewer.addEventListener("show", (event) => timeline.reveal(event.detail))
viewer.addEventListener("delete", (event) => remove(event.detail))
viewer.addEventListener("hide", (event) => hide(event.detail))
viewer.addEventListener("search", (event) => {
  $("search").elements.search.value = event.detail
  $("search").requestSubmit()
})
viewer.addEventListener("link", (event) => ask(text("link", { date: event.detail.date }), event.detail.link))
viewer.addEventListener("failure", (event) => report(event.detail))
viewer.addEventListener("closed", () => document.body.append($("messages")))
viewer.addEventListener("message", (event) => say(event.detail))

// Selection

const selected = () => [...timeline.selection]

timeline.addEventListener("selection", () => {
  const bar = $("selectionBar")
  const count = timeline.selection.size
  bar.hidden = count === 0
  if (count === 0) return
  const album = sidebar.selected?.type === "album" ? sidebar.selected : null
  const actions = [
    ["unselect", () => timeline.select(new Set())],
    ["download", () => { location.href = `/v1/archive?${query({ assets: selected().join() })}` }],
    ...(rights.canWrite ? [
      ["favourite", () => act(...selected().map((asset) => ({ type: "updateAsset", asset, isFavorite: true })))],
      ["addToAlbum", addToAlbum],
      ...(album ? [["removeFromAlbum", () =>
        act({ type: "removeAssets", collection: album.localIdentifier, assets: selected() })]] : []),
      ["hide", () => hide(selected())],
      ["delete", () => remove(selected())],
    ] : []),
  ]
  bar.replaceChildren(Object.assign(document.createElement("span"), { textContent: text("selected", { count }) }),
    ...actions.map(([name, action]) => {
      const button = Object.assign(document.createElement("button"), { textContent: text(name) })
      button.addEventListener("click", action)
      return button
    }))
})

async function act(...changes) {
  try {
    await change(...changes)
    timeline.select(new Set())
    return true
  } catch (error) {
    report(error)
    return false
  }
}

async function addToAlbum() {
  const albums = sidebar.collections.filter((collection) => collection.type === "album")
  const title = await ask(text("albumName"), "", albums.map((album) => album.title))
  if (!title) return
  const album = albums.find((known) => known.title === title)
  const collection = album?.localIdentifier ?? "$album"
  act(...(album ? [] : [{ type: "createAlbum", title, placeholder: "$album" }]),
    { type: "addAssets", collection, assets: selected() })
}

async function hide(assets) {
  const changes = (isHidden) => assets.map((asset) => ({ type: "updateAsset", asset, isHidden }))
  if (await act(...changes(true))) say(text("hidden", { count: assets.length }), text("undo"), () => act(...changes(false)))
}

/// Moves assets to the trash, and offers to take that back.
async function remove(assets) {
  try {
    await change(...assets.map((asset) => ({ type: "deleteAsset", asset })))
    timeline.select(new Set())
    say(text("deleted", { count: assets.length }), text("undo"), () =>
      act(...assets.map((asset) => ({ type: "restoreAsset", asset }))))
  } catch (error) {
    report(error)
  }
}

/// Drags the selection, or the picture under the pointer, to an album.
$("timeline").addEventListener("dragstart", (event) => {
  const cell = event.target.closest(".cell")
  if (!cell) return
  const assets = timeline.selection.has(cell.asset.id) ? selected() : [cell.asset.id]
  event.dataTransfer.setData(DRAGGED, JSON.stringify(assets))
  event.dataTransfer.setDragImage(cell, 20, 20)
})

/// In an album, pictures are also dropped before or after others.
const target = (event) => {
  const cell = event.target.closest?.(".cell")
  return cell && list?.hasOwnOrder && rights.canWrite && event.dataTransfer.types.includes(DRAGGED) ? cell : null
}
const unmark = () => { for (const cell of document.querySelectorAll(".before, .after")) cell.classList.remove("before", "after") }
const isAfter = (cell, event) => {
  const box = cell.getBoundingClientRect()
  return (event.clientX > box.left + box.width / 2) !== (getComputedStyle(cell).direction === "rtl")
}
$("timeline").addEventListener("dragover", (event) => {
  unmark()
  const cell = target(event)
  if (!cell) return
  event.preventDefault()
  cell.classList.add(isAfter(cell, event) ? "after" : "before")
})
$("timeline").addEventListener("dragend", unmark)
$("timeline").addEventListener("drop", (event) => {
  unmark()
  const cell = target(event)
  if (!cell) return
  event.preventDefault()
  event.stopPropagation()
  const moved = JSON.parse(event.dataTransfer.getData(DRAGGED))
  const before = list.assets.slice(0, Number(cell.dataset.index) + (isAfter(cell, event) ? 1 : 0))
  // The index counts the others only.
  const index = before.filter(({ id }) => !moved.includes(id)).length
  act({ type: "moveAssets", collection: list.source.collection, assets: moved, index })
})

// Adding files

$("add").addEventListener("click", () => $("files").click())
$("files").addEventListener("change", (event) => { uploads.add(event.target.files); event.target.value = "" })
uploads.addEventListener("message", (event) => say(event.detail))
addEventListener("dragover", (event) => {
  if (!rights.canAdd || !event.dataTransfer.types.includes("Files")) return
  event.preventDefault()
  document.body.classList.add("dropping")
})
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping") })
addEventListener("drop", (event) => {
  document.body.classList.remove("dropping")
  if (!rights.canAdd || event.dataTransfer.files.length === 0) return
  event.preventDefault()
  uploads.add(event.dataTransfer.files)
})

// The bar

$("menu").addEventListener("click", () => {
  const isOpen = document.body.classList.toggle("withSidebar")
  $("menu").setAttribute("aria-expanded", isOpen)
  if (isOpen) $("sidebar").querySelector("button")?.focus()
})
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !document.body.classList.contains("withSidebar")) return
  document.body.classList.remove("withSidebar")
  $("menu").setAttribute("aria-expanded", "false")
  $("menu").focus()
})
$("service").addEventListener("click", () => $("service").setAttribute("aria-pressed", panel.toggle()))
$("signOut").addEventListener("click", async () => {
  await request("/v1/session", { method: "DELETE" }).catch(() => {})
  location.reload()
})

// Dialogs and messages

function signIn() {
  const dialog = $("signIn")
  if (dialog.open) return
  const form = document.createElement("form")
  const input = Object.assign(document.createElement("input"), { type: "password", name: "token", required: true, autocomplete: "current-password" })
  input.setAttribute("aria-label", text("token"))
  const problem = Object.assign(document.createElement("p"), { className: "problem" })
  problem.setAttribute("role", "alert")
  form.append(
    Object.assign(document.createElement("h2"), { textContent: text("signIn") }),
    Object.assign(document.createElement("p"), { textContent: text("signInWhy") }), input, problem,
    Object.assign(document.createElement("button"), { className: "primary", textContent: text("signIn") }))
  form.addEventListener("submit", async (event) => {
    event.preventDefault()
    try {
      await post("/v1/session", { token: input.value.trim() })
      sessionStorage.setItem("signedIn", "1")
      dialog.close()
      $("signOut").hidden = false
      start()
    } catch (error) {
      problem.textContent = error instanceof Failure && error.status === 401 ? text("wrongToken") : error.message
    }
  })
  dialog.replaceChildren(form)
  dialog.addEventListener("cancel", (event) => event.preventDefault())
  dialog.showModal()
}
$("signOut").hidden = !sessionStorage.getItem("signedIn")

/// Asks for a text; with `value` null, only for consent. Resolves with the text, true, or null.
function ask(question, value = "", choices = []) {
  const dialog = $("question")
  return new Promise((resolve) => {
    const form = Object.assign(document.createElement("form"), { method: "dialog" })
    const input = value === null ? null : Object.assign(document.createElement("input"), { value, required: true })
    form.append(Object.assign(document.createElement("h2"), { textContent: question }))
    if (input) {
      input.setAttribute("aria-label", question)
      const options = Object.assign(document.createElement("datalist"), { id: "choices" })
      options.append(...choices.map((choice) => Object.assign(document.createElement("option"), { value: choice })))
      input.setAttribute("list", "choices")
      form.append(input, options)
    }
    const no = Object.assign(document.createElement("button"), { type: "button", textContent: text("cancel") })
    no.addEventListener("click", () => dialog.close())
    const yes = Object.assign(document.createElement("button"), { className: "primary", value: "yes", textContent: text("ok") })
    form.append(no, yes)
    dialog.returnValue = ""
    dialog.replaceChildren(form)
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? input?.value.trim() ?? true : null), { once: true })
    dialog.showModal()
  })
}

function report(error) {
  if (error instanceof Failure && error.status === 401) return
  say(error.message ?? String(error))
}

function say(message, actionName, action) {
  const line = Object.assign(document.createElement("p"), { textContent: message })
  if (action) {
    const button = Object.assign(document.createElement("button"), { textContent: actionName })
    button.addEventListener("click", () => { line.remove(); action() })
    line.append(button)
  }
  // In front of an open viewer, which is in the top layer.
  if ($("viewer").open) $("viewer").append($("messages"))
  else document.body.append($("messages"))
  $("messages").append(line)
  setTimeout(() => line.remove(), action ? 10000 : 6000)
}
