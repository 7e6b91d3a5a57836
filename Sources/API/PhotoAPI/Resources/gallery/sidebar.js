// Albums, folders, smart albums, years and moments. Albums, folders and smart albums are one fetch result over collections,
// kept current by its deltas: what another tab creates appears here, and counts follow every change of the library.

import { change, json, post, query, stream } from "/gallery/api.js"
import { updated } from "/gallery/assets.js"
import { Emitter, make, on } from "/gallery/dom.js"
import { dayName, text } from "/gallery/strings.js"

const DRAGGED = "application/x-photod-assets"
const MOMENTS = 6
const RANGE = 1000

export class Sidebar extends Emitter {
  collections = []
  selected = null
  #stream = null
  #library = null
  #smart = []
  #years = []
  #moments = []
  /// All collections of the fetch result, in its order.
  #all = []
  #work = Promise.resolve()

  constructor(element, rights, ask) {
    super()
    Object.assign(this, { element, rights, ask })
  }

  async load() {
    this.#stream?.close()
    let handle = await post("/v1/fetchResults", { collections: {} })
    await this.#take(await this.#read(handle.id, handle.count > 0 ? [[0, handle.count - 1]] : []))
    this.#stream = stream(() => this.#work.then(() => ({ fetchResult: handle.id })), {
      // One after the other, as for assets.
      change: (delta) => {
        const read = (ranges) => this.#read(delta.fetchResultAfterChanges.id, ranges)
        this.#work = this.#work.then(async () => {
          await this.#take(await updated(this.#all, delta, read))
          handle = delta.fetchResultAfterChanges
        }).catch(() => this.#reload())
      },
      reload: () => this.#reload(),
      error: (isClosed) => { if (isClosed) this.#reload() },
    })
  }

  #reload() {
    this.#stream?.close()
    setTimeout(() => this.load().catch(() => this.#reload()), 3000)
  }

  async #read(handle, ranges) {
    const found = []
    for (const [first, last] of ranges) {
      for (let start = first; start <= last; start += RANGE) {
        const range = `${start}-${Math.min(last, start + RANGE - 1)}`
        found.push(...(await json(`/v1/fetchResults/${handle}/collections?${query({ range })}`)).collections)
      }
    }
    return found
  }

  async #take(all) {
    this.#all = all.filter((collection) => !collection.deleted)
    this.collections = this.#all.filter((collection) => collection.type !== "smartAlbum")
    this.#smart = this.#all.filter(({ type, subtype, estimatedAssetCount }) =>
      type === "smartAlbum" && estimatedAssetCount > 0 && subtype !== "smartAlbumUserLibrary")
    this.#library = this.#all.find(({ subtype }) => subtype === "smartAlbumUserLibrary");
    // Those by date are not among all collections.
    [this.#years, this.#moments] = await Promise.all([
      { type: "folder", subtype: "momentListYear", limit: 200 }, { type: "moment", limit: MOMENTS, sortDescriptors: "-startDate" },
    ].map(async (kind) => (await json(`/v1/collections?${query(kind)}`)).collections))
    this.render()
    this.emit("change")
  }

  render() {
    const all = this.#row({ ...this.#library, localIdentifier: null, title: text("allPhotos"), type: "smartAlbum" }, 0)
    const sections = [
      all, this.#heading(text("albums"), this.rights.canWrite), ...this.#children(null, 0),
      this.#heading(text("smartAlbums")), ...this.#smart.map((album) => this.#row(album, 0)),
      this.#heading(text("years")), ...this.#years.map((year) => this.#row(year, 0)),
      this.#heading(text("moments")), ...this.#moments.map((moment) =>
        this.#row({ ...moment, title: moment.title || dayName(moment.startDate) }, 0)),
    ]
    // The focus stays on its row.
    const focused = document.activeElement?.closest?.("#sidebar .collection")?.dataset.id
    this.element.replaceChildren(...sections)
    if (focused !== undefined) this.element.querySelector(`[data-id="${focused}"] .open`)?.focus()
  }

  #children(parent, depth) {
    return this.collections.filter((collection) => collection.parent === parent).flatMap((collection) => [
      this.#row(collection, depth), ...(collection.type === "folder" ? this.#children(collection.localIdentifier, depth + 1) : []),
    ])
  }

  #heading(title, canCreate = false) {
    const heading = make("h2", { textContent: title })
    if (canCreate) {
      heading.append(
        this.#small("+", text("newAlbum"), () => this.#create("createAlbum", "albumName")),
        this.#small("⊞", text("newFolder"), () => this.#create("createFolder", "folderName")))
    }
    return heading
  }

  #small(label, name, action) {
    const button = make("button", { className: "small", textContent: label, title: name })
    button.ariaLabel = name
    on(button, "click", (event) => { event.stopPropagation(); action() })
    return button
  }

  #row(collection, depth) {
    const row = make("div")
    row.className = "collection"
    row.dataset.id = collection.localIdentifier ?? ""
    row.style.paddingInlineStart = `${18 + depth * 16}px`
    const open = make("button", { className: "open" })
    const isSelected = (this.selected?.localIdentifier ?? null) === collection.localIdentifier
    if (isSelected) open.ariaCurrent = "true"
    const cover = make("span")
    cover.className = collection.type === "folder" ? "cover folder" : "cover"
    const key = collection.keyAssets?.[0]
    if (key) cover.append(make("img", {
      alt: "", loading: "lazy", src: `/v1/assets/${key}/image?targetSize=80x80&contentMode=aspectFill&networkAccessAllowed=true`,
    }))
    open.append(
      cover, make("span", { className: "name", textContent: collection.title || "–" }),
      make("span", {
        className: "number", textContent: collection.estimatedAssetCount?.toLocaleString() ?? "",
      }))
    on(open, "click", () => this.open(collection))
    row.append(open)
    const isOwn = (collection.type === "album" || collection.type === "folder") && !collection.subtype?.startsWith("momentList")
    if (isOwn && this.rights.canWrite) {
      row.append(
        this.#small("✎", text("rename"), () => this.#rename(collection)),
        this.#small("✕", text("delete"), () => this.#delete(collection)))
      this.#acceptDrops(row, open, collection)
      open.setAttribute("aria-keyshortcuts", "Alt+ArrowUp Alt+ArrowDown")
      on(open, "keydown", (event) => {
        const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
        if (!event.altKey || !step) return
        event.preventDefault()
        const siblings = this.collections.filter((other) => other.parent === collection.parent)
        const index = siblings.findIndex((other) => other.localIdentifier === collection.localIdentifier) + step
        if (index < 0 || index >= siblings.length) return
        this.#act(change({ type: "moveCollections", parent: collection.parent, collections: [collection.localIdentifier], index }))
      })
    }
    return row
  }

  open(collection) {
    this.selected = collection.localIdentifier === null ? null : collection
    this.render()
    this.emit("open", this.selected)
  }

  /// Photographs are dropped into albums; albums into folders, or before other albums.
  #acceptDrops(row, open, collection) {
    open.draggable = true
    on(open, "dragstart", (event) => event.dataTransfer.setData("text/x-collection", collection.localIdentifier))
    on(row, "dragover", (event) => {
      const types = event.dataTransfer.types
      if ((types.includes(DRAGGED) && collection.type === "album") || types.includes("text/x-collection")) {
        event.preventDefault()
        row.classList.add("target")
      }
    })
    on(row, "dragleave", () => row.classList.remove("target"))
    on(row, "drop", (event) => {
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
    promise.catch((error) => this.emit("failure", error))
  }

  close() {
    this.#stream?.close()
  }
}

export { DRAGGED }
