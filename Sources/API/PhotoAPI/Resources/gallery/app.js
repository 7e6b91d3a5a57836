// The page: who may do what, which list is shown, and what the bar's buttons do. The parts are in their own modules.

import { Failure, change, json, post, query, request, whenSignedOut } from "/gallery/api.js"
import { AssetList } from "/gallery/assets.js"
import { make, on } from "/gallery/dom.js"
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
  on(shown, "page", () => { if (shown.assets.length === Math.min(shown.count, 10000)) present(shown) })
  on(shown, "change", () => { if (shown === list) { timeline.relayout(); viewer.refresh(); describe() } })
  on(shown, "kinds", () => { if (shown === list) timeline.mark() })
  on(shown, "offline", () => { $("connection").textContent = text("connectionLost") })
  on(shown, "online", () => { $("connection").textContent = "" })
  on(shown, "failure", (event) => report(event.detail))
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

on(sidebar, "open", (event) => {
  document.body.classList.remove("withSidebar")
  $("menu").ariaExpanded = "false"
  const collection = event.detail
  show(collection ? sourceOf(collection) : {}, collection?.title ?? text("allPhotos"))
})

const sourceOf = ({ localIdentifier, type, subtype }) => ({
  collection: localIdentifier, isAlbum: type === "album",
  ...(subtype === "smartAlbumAllHidden" ? { includeHiddenAssets: true } : {}),
})

on(sidebar, "failure", (event) => report(event.detail))

/// Words are a search. What looks like a predicate is one.
on($("search"), "submit", (event) => {
  event.preventDefault()
  const words = event.target.search.value.trim()
  const isPredicate = /[=<>]|\b(BEGINSWITH|CONTAINS|ENDSWITH|LIKE|IN|BETWEEN)\b/.test(words)
  const source = words === "" ? {} : isPredicate ? { predicate: words } : { search: words }
  if (sidebar.selected) Object.assign(source, sourceOf(sidebar.selected))
  show(source, words || sidebar.selected?.title || text("allPhotos"))
})
on($("search"), "input", (event) => {
  const value = event.target.value
  if (value === "") $("search").requestSubmit()
  // The last word is completed with those of the predicate language.
  const [, before, word] = value.match(/^(.*?)(\w*)$/s)
  const starts = (name) => name.toLowerCase().startsWith(word.toLowerCase())
  const found = word.length < 2 ? [] : [...PREDICATE_WORDS, ...places ?? []].filter(starts)
  $("words").replaceChildren(...found.map((name) => make("option", { value: before + name })))
})

/// Moments are named after their places, for those who may know them.
on($("search"), "focusin", async () => {
  if (places) return
  places = []
  const moments = await json(`/v1/collections?${query({ type: "moment", limit: 1000 })}`).catch(() => ({ collections: [] }))
  places = [...new Set(moments.collections.flatMap(({ title }) => title?.split(/, | & /) ?? []))]
})
on($("search"), "keydown", (event) => {
  if (event.key !== "Escape") return
  event.target.value = ""
  $("search").requestSubmit()
  timeline.focus(0, false)
})

// The viewer

on(timeline, "open", (event) => viewer.open(event.detail))
on(viewer, "show", (event) => timeline.reveal(event.detail))
on(viewer, "delete", (event) => remove(event.detail))
on(viewer, "hide", (event) => hide(event.detail))
on(viewer, "search", (event) => {
  $("search").elements.search.value = event.detail
  $("search").requestSubmit()
})
on(viewer, "link", (event) => ask(text("link", { date: event.detail.date }), event.detail.link))
on(viewer, "failure", (event) => report(event.detail))
on(viewer, "closed", () => document.body.append($("messages")))
on(viewer, "message", (event) => say(event.detail))

// Selection

const selected = () => [...timeline.selection]

on(timeline, "selection", () => {
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
  bar.replaceChildren(make("span", { textContent: text("selected", { count }) }),
    ...actions.map(([name, action]) => {
      const button = make("button", { textContent: text(name) })
      on(button, "click", action)
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
on($("timeline"), "dragstart", (event) => {
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
on($("timeline"), "dragover", (event) => {
  unmark()
  const cell = target(event)
  if (!cell) return
  event.preventDefault()
  cell.classList.add(isAfter(cell, event) ? "after" : "before")
})
on($("timeline"), "dragend", unmark)
on($("timeline"), "drop", (event) => {
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

on($("add"), "click", () => $("files").click())
on($("files"), "change", (event) => { uploads.add(event.target.files); event.target.value = "" })
on(uploads, "message", (event) => say(event.detail))
on(window, "dragover", (event) => {
  if (!rights.canAdd || !event.dataTransfer.types.includes("Files")) return
  event.preventDefault()
  document.body.classList.add("dropping")
})
on(window, "dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping") })
on(window, "drop", (event) => {
  document.body.classList.remove("dropping")
  if (!rights.canAdd || event.dataTransfer.files.length === 0) return
  event.preventDefault()
  uploads.add(event.dataTransfer.files)
})

// The bar

on($("menu"), "click", () => {
  const isOpen = document.body.classList.toggle("withSidebar")
  $("menu").ariaExpanded = isOpen
  if (isOpen) $("sidebar").querySelector("button")?.focus()
})
on(window, "keydown", (event) => {
  if (event.key !== "Escape" || !document.body.classList.contains("withSidebar")) return
  document.body.classList.remove("withSidebar")
  $("menu").ariaExpanded = "false"
  $("menu").focus()
})
on($("service"), "click", () => $("service").ariaPressed = panel.toggle())
on($("signOut"), "click", async () => {
  await request("/v1/session", { method: "DELETE" }).catch(() => {})
  location.reload()
})

// Dialogs and messages

function signIn() {
  const dialog = $("signIn")
  if (dialog.open) return
  const form = make("form")
  const input = make("input", { type: "password", name: "token", required: true, autocomplete: "current-password" })
  input.ariaLabel = text("token")
  const problem = make("p", { className: "problem" })
  problem.role = "alert"
  form.append(
    make("h2", { textContent: text("signIn") }),
    make("p", { textContent: text("signInWhy") }), input, problem,
    make("button", { className: "primary", textContent: text("signIn") }))
  on(form, "submit", async (event) => {
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
  on(dialog, "cancel", (event) => event.preventDefault())
  dialog.showModal()
}
$("signOut").hidden = !sessionStorage.getItem("signedIn")

/// Asks for a text; with `value` null, only for consent. Resolves with the text, true, or null.
function ask(question, value = "", choices = []) {
  const dialog = $("question")
  return new Promise((resolve) => {
    const form = make("form", { method: "dialog" })
    const input = value === null ? null : make("input", { value, required: true })
    form.append(make("h2", { textContent: question }))
    if (input) {
      input.ariaLabel = question
      const options = make("datalist", { id: "choices" })
      options.append(...choices.map((choice) => make("option", { value: choice })))
      input.setAttribute("list", "choices")
      form.append(input, options)
    }
    const no = make("button", { type: "button", textContent: text("cancel") })
    on(no, "click", () => dialog.close())
    const yes = make("button", { className: "primary", value: "yes", textContent: text("ok") })
    form.append(no, yes)
    dialog.returnValue = ""
    dialog.replaceChildren(form)
    on(dialog, "close", () => resolve(dialog.returnValue === "yes" ? input?.value.trim() ?? true : null), { once: true })
    dialog.showModal()
  })
}

function report(error) {
  if (error instanceof Failure && error.status === 401) return
  say(error.message ?? String(error))
}

function say(message, actionName, action) {
  const line = make("p", { textContent: message })
  if (action) {
    const button = make("button", { textContent: actionName })
    on(button, "click", () => { line.remove(); action() })
    line.append(button)
  }
  // In front of an open viewer, which is in the top layer.
  if ($("viewer").open) $("viewer").append($("messages"))
  else document.body.append($("messages"))
  $("messages").append(line)
  setTimeout(() => line.remove(), action ? 10000 : 6000)
}
