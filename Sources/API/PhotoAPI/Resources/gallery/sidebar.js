// Albums, folders, smart albums and years. Albums and folders are a fetch result over collections, kept current by its
// stream: what another tab creates appears here.

import { change, json, post, query, stream } from "/gallery/api.js"
import { text } from "/gallery/strings.js"

const DRAGGED = "application/x-photod-assets"

export class Sidebar extends EventTarget {
  collections = []
  selected = null
  #stream = null
  #smart = []
  #years = []

  constructor(element, rights, ask) {
    super()
    Object.assign(this, { element, rights, ask })
  }

  async load() {
    const kinds = await Promise.all([
      this.#all({ type: "smartAlbum" }), this.#all({ type: "folder", subtype: "momentListYear" }),
    ])
    this.#smart = kinds[0].filter((album) => album.estimatedAssetCount > 0 && album.subtype !== "smartAlbumUserLibrary")
    this.#years = kinds[1]
    await this.#follow()
  }

  async #all(parameters) {
    const found = []
    let next = `/v1/collections?${query({ limit: 1000, ...parameters })}`
    while (next) {
      const page = await json(next)
      found.push(...page.collections)
      next = page.next
    }
    return found
  }

  async #follow() {
    this.#stream?.close()
    const handle = await post("/v1/fetchResults", { collections: { type: "album" } })
    await this.#read()
    this.#stream = stream({ fetchResult: handle.id }, {
      change: () => this.#read().catch(() => {}), reload: () => this.#read().catch(() => {}),
      error: (isClosed) => { if (isClosed) setTimeout(() => this.#follow().catch(() => {}), 5000) },
    })
  }

  async #read() {
    const [folders, albums] = await Promise.all([this.#all({ type: "folder" }), this.#all({ type: "album" })])
    this.collections = [...folders.filter((folder) => !folder.subtype.startsWith("momentList")), ...albums]
    this.render()
    this.dispatchEvent(new Event("change"))
  }

  render() {
    const all = this.#row({ localIdentifier: null, title: text("allPhotos"), type: "smartAlbum" }, 0)
    const sections = [
      all, this.#heading(text("albums"), this.rights.canWrite), ...this.#children(null, 0),
      this.#heading(text("smartAlbums")), ...this.#smart.map((album) => this.#row(album, 0)),
      this.#heading(text("years")), ...this.#years.map((year) => this.#row(year, 0)),
    ]
    this.element.replaceChildren(...sections)
  }

  #children(parent, depth) {
    return this.collections.filter((collection) => collection.parent === parent).flatMap((collection) => [
      this.#row(collection, depth), ...(collection.type === "folder" ? this.#children(collection.localIdentifier, depth + 1) : []),
    ])
  }

  #heading(title, canCreate = false) {
    const heading = Object.assign(document.createElement("h2"), { textContent: title })
    if (canCreate) {
      heading.append(
        this.#small("+", text("newAlbum"), () => this.#create("createAlbum", "albumName")),
        this.#small("⊞", text("newFolder"), () => this.#create("createFolder", "folderName")))
    }
    return heading
  }

  #small(label, name, action) {
    const button = Object.assign(document.createElement("button"), { className: "small", textContent: label, title: name })
    button.setAttribute("aria-label", name)
    button.addEventListener("click", (event) => { event.stopPropagation(); action() })
    return button
  }

  #row(collection, depth) {
    const row = document.createElement("div")
    row.className = "collection"
    row.style.paddingInlineStart = `${18 + depth * 16}px`
    const open = Object.assign(document.createElement("button"), { className: "open" })
    const isSelected = (this.selected?.localIdentifier ?? null) === collection.localIdentifier
    open.setAttribute("aria-current", isSelected)
    const cover = document.createElement("span")
    cover.className = collection.type === "folder" ? "cover folder" : "cover"
    const key = collection.keyAssets?.[0]
    if (key) cover.append(Object.assign(new Image(), {
      alt: "", loading: "lazy", src: `/v1/assets/${key}/image?targetSize=80x80&contentMode=aspectFill`,
    }))
    open.append(
      cover, Object.assign(document.createElement("span"), { className: "name", textContent: collection.title || "–" }),
      Object.assign(document.createElement("span"), {
        className: "number", textContent: collection.estimatedAssetCount?.toLocaleString() ?? "",
      }))
    open.addEventListener("click", () => this.open(collection))
    row.append(open)
    const isOwn = (collection.type === "album" || collection.type === "folder") && !collection.subtype?.startsWith("momentList")
    if (isOwn && this.rights.canWrite) {
      row.append(
        this.#small("✎", text("rename"), () => this.#rename(collection)),
        this.#small("✕", text("delete"), () => this.#delete(collection)))
      this.#acceptDrops(row, open, collection)
    }
    return row
  }

  open(collection) {
    this.selected = collection.localIdentifier === null ? null : collection
    this.render()
    this.dispatchEvent(new CustomEvent("open", { detail: this.selected }))
  }

  /// Photographs are dropped into albums; albums into folders, or before other albums.
  #acceptDrops(row, open, collection) {
    open.draggable = true
    open.addEventListener("dragstart", (event) => event.dataTransfer.setData("text/x-collection", collection.localIdentifier))
    row.addEventListener("dragover", (event) => {
      const types = event.dataTransfer.types
      if ((types.includes(DRAGGED) && collection.type === "album") || types.includes("text/x-collection")) {
        event.preventDefault()
        row.classList.add("target")
      }
    })
    row.addEventListener("dragleave", () => row.classList.remove("target"))
    row.addEventListener("drop", (event) => {
      event.preventDefault()
      row.classList.remove("target")
      const assets = event.dataTransfer.getData(DRAGGED)
      const moved = event.dataTransfer.getData("text/x-collection")
      if (assets) {
        this.#act(change({ type: "addAssets", collection: collection.localIdentifier, assets: JSON.parse(assets) }))
      } else if (moved && moved !== collection.localIdentifier) {
        this.#act(change(this.#move(moved, collection)))
      }
    })
  }

  #move(moved, target) {
    if (target.type === "folder") {
      const index = this.collections.filter((other) => other.parent === target.localIdentifier && other.localIdentifier !== moved).length
      return { type: "moveCollections", parent: target.localIdentifier, collections: [moved], index }
    }
    const siblings = this.collections.filter((other) => other.parent === target.parent && other.localIdentifier !== moved)
    return { type: "moveCollections", parent: target.parent, collections: [moved], index: siblings.indexOf(target) }
  }

  async #create(type, question) {
    const title = await this.ask(text(question))
    if (!title) return
    const parent = this.selected?.type === "folder" && !this.selected.subtype?.startsWith("momentList")
      ? this.selected.localIdentifier : null
    this.#act(change({ type, title, parent }))
  }

  async #rename(collection) {
    const title = await this.ask(text("rename"), collection.title)
    if (title) this.#act(change({ type: "updateCollection", collection: collection.localIdentifier, title }))
  }

  async #delete(collection) {
    if (!await this.ask(text("deleteAlbum", { name: collection.title }), null)) return
    if (this.selected?.localIdentifier === collection.localIdentifier) this.open({ localIdentifier: null })
    this.#act(change({ type: "deleteCollection", collection: collection.localIdentifier }))
  }

  #act(promise) {
    promise.then(() => this.#read()).catch((error) => this.dispatchEvent(new CustomEvent("failure", { detail: error })))
  }

  close() {
    this.#stream?.close()
  }
}

export { DRAGGED }
