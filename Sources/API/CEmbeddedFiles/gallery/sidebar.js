// Albums, folders and smart albums, which are one fetch result; years and moments.

import { address, visit } from "./address.js"
import { change, inParts, json, query, rights, squareURL } from "./api.js"
import { ask, report } from "./dialogs.js"
import { $, all, button, iconButton, make, on, page } from "./dom.js"
import { FetchResult } from "./fetchresult.js"
import { DRAGGED } from "./selection.js"
import { dayName, text } from "./strings.js"

const COLLECTION = "application/x-photod-collection"
const MOMENTS = 6

const sidebar = $("sidebar")
/// What is shown: null for the whole library.
export let shown = null
let known = []
let list = null
/// Albums and folders of the user, in their order.
let own = []

const isOwn = ({ type, subtype }) => type === "album" || (type === "folder" && !subtype?.startsWith("momentList"))
export const albums = () => own.filter(({ type }) => type === "album")
export const shownAlbum = () => shown?.type === "album" ? shown : null

/// Marks a collection, and returns it; null for the library.
export async function show(id) {
  shown = find(id)
  markShown()
  const collection = shown ?? (id ? named(await json(`/v1/collections/${id}`)) : null)
  if (address.collection === id) shown = collection
  return collection
}

const find = (wanted) => known.find(({ id }) => id === wanted) ?? null

/// Moments without places have the name of their day.
const named = (found) => ({ ...found, id: found.localIdentifier, title: found.title || (found.day ? dayName({ creationDate: found.day, utcOffset: 0 }) : "–") })

export async function load() {
  list?.close()
  list = new FetchResult({ collections: {} }, "collections")
  on(list, "change", () => draw().catch(report))
  await list.load()
  await draw()
}

async function draw() {
  // Those by date are not among all collections, and may take long.
  const [years, moments] = await Promise.all([
    { type: "folder", subtype: "momentListYear", limit: 200 }, { type: "moment", limit: MOMENTS, sortDescriptors: "-startDate" },
  ].map((kind) => json(`/v1/collections?${query(kind)}`).then(({ collections }) => collections.map(named), () => [])))
  // As it is now: calls may overlap.
  const all = list.items.filter(({ deleted }) => !deleted).map(named)
  known = [...all, ...years, ...moments]
  const isDeleted = shown && isOwn(shown) && shown.id === address.collection && !find(shown.id)
  shown = find(address.collection) ?? shown
  page.emit(isDeleted ? "deleted" : "collections")
  own = all.filter(isOwn)
  const library = all.find(({ subtype }) => subtype === "smartAlbumUserLibrary")
  const smart = all.filter((album) => album.type === "smartAlbum" && album.estimatedAssetCount > 0 && album !== library)
  const section = (key, rows, ...tools) =>
    rows.length + tools.length > 0 ? [make("h2", {}, text(key), ...tools), ...rows] : []
  const rows = (collections) => collections.map((collection) => row(collection))
  // The focus stays on its row.
  const focused = document.activeElement?.closest("#sidebar .collection")?.dataset.id
  sidebar.replaceChildren(
    row({ ...library, id: "", title: text("library") }),
    ...section("albums", children(null, 0), ...(rights.canCreate ? [
      iconButton("newAlbum", () => create("createAlbum", "nameOfTheAlbum"), "small"),
      iconButton("newFolder", () => create("createFolder", "nameOfTheFolder"), "small")] : [])),
    ...section("smartAlbums", rows(smart)), ...section("years", rows(years)), ...section("moments", rows(moments)))
  markShown()
  if (focused !== undefined) sidebar.querySelector(`[data-id="${focused}"] .open`)?.focus()
}

function children(parent, depth) {
  return childrenOf(parent).flatMap((collection) => [
    row(collection, depth), ...(collection.type === "folder" ? children(collection.id, depth + 1) : []),
  ])
}

function row(collection, depth = 0) {
  const { id, title, estimatedAssetCount, keyAssets: [key] = [] } = collection
  const cover = make("span.cover")
  if (key) cover.append(make("img", { loading: "lazy", src: squareURL({ id: key }, 80) }))
  const opening = button([
    cover, make("span.name", {}, title), make("span.number", {}, estimatedAssetCount?.toLocaleString() ?? ""),
  ], () => open(id), { className: "open" })
  const element = make("div.collection", { dataset: { id }, style: { paddingInlineStart: `${8 + depth * 16}px` } }, opening)
  if (isOwn(collection) && rights.canWrite) {
    element.append(iconButton("rename", () => rename(collection), "small"), iconButton("delete", () => remove(collection), "small"))
    acceptDrops(element, collection)
    opening.draggable = true
    on(opening, "dragstart", ({ dataTransfer }) => dataTransfer.setData(COLLECTION, id))
    opening.ariaKeyShortcuts = "Alt+ArrowUp Alt+ArrowDown"
    on(opening, "keydown", (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
      if (!event.altKey || !step) return
      event.preventDefault()
      const siblings = childrenOf(collection.parent), index = siblings.indexOf(collection) + step
      if (siblings[index]) move(id, collection.parent, index)
    })
  }
  return element
}

const open = (collection) => visit({ collection, search: null, asset: null })

function markShown() {
  for (const { dataset, firstChild } of all(".collection")) {
    firstChild.ariaCurrent = dataset.id === (address.collection ?? "")
  }
}

/// Of photographs into albums; of albums into folders or before others.
function acceptDrops(element, collection) {
  const { id, type, parent } = collection
  on(element, "dragover dragleave drop", (event) => {
    const { dataTransfer } = event, hasPictures = dataTransfer.types.includes(DRAGGED)
    if (hasPictures ? type !== "album" : !dataTransfer.types.includes(COLLECTION)) return
    event.preventDefault()
    element.classList.toggle("target", event.type === "dragover")
    if (event.type !== "drop") return
    const moved = dataTransfer.getData(COLLECTION)
    if (hasPictures) inParts(JSON.parse(dataTransfer.getData(DRAGGED)), (assets) => perform({ type: "addAssets", collection: id, assets }))
    else if (moved === id) return
    else if (type === "folder") move(moved, id, childrenOf(id, moved).length)
    else move(moved, parent, childrenOf(parent, moved).indexOf(collection))
  })
}

/// Without the one that moves: an index counts the others only.
const childrenOf = (parent, moved) => own.filter((other) => other.parent === parent && other.id !== moved)

const move = (collection, parent, index) => perform({ type: "moveCollections", parent, collections: [collection], index })

async function create(type, question) {
  const title = await ask(text(question))
  const parent = shown?.type === "folder" && isOwn(shown) ? shown.id : null
  if (title) perform({ type, title, parent })
}

async function rename({ id, title: former }) {
  const title = await ask(text("rename"), former)
  if (title) perform({ type: "updateCollection", collection: id, title })
}

async function remove({ id, title, type }) {
  if (!await ask(text(type === "album" ? "deleteAlbum" : "deleteFolder", { name: title }), null)) return
  if (shown?.id === id) open(null)
  perform({ type: "deleteCollection", collection: id })
}

const perform = (entry) => change(entry).catch(report)
