// A fetch result that the page follows: a handle, its items, and a stream of deltas, applied in order:
// removals, insertions, changes, then moves.

import { json, post, query, request } from "./api.js"
import { report } from "./dialogs.js"
import { Emitter, on } from "./dom.js"

/// Items of a request, and how near missing ones share it.
const RANGE = 1000
const NEAR = 100
const RETRY = 3000

/// Emits "change" after a delta, "offline" and "online".
export class FetchResult extends Emitter {
  items = []
  handle = null
  isClosed = false
  #stream = null
  #work = Promise.resolve()

  /// `body` is for POST /v1/fetchResults, `kind` is "assets" or "collections", `fields` are read.
  constructor(body, kind, fields) {
    super()
    Object.assign(this, { body, kind, fields })
  }

  /// One that is closed says nothing more.
  emit(...event) { if (!this.isClosed) super.emit(...event) }

  async load() {
    this.handle = await post("/v1/fetchResults", this.body)
    if (this.isClosed) return this.#release()
    await this.readAll()
    if (this.isClosed) return
    on(document, "visibilitychange", this.#look)
    this.#open()
  }

  async readAll() { this.items = await this.read(this.handle, 0, this.handle.count - 1) }

  async read(handle, first, last) {
    const items = []
    for (let start = first; start <= last; start += RANGE) {
      const range = `${start}-${Math.min(last, start + RANGE - 1)}`
      const page = await json(`/v1/fetchResults/${handle.id}/${this.kind}?${query({ range, fields: this.fields })}`)
      items.push(...page[this.kind])
    }
    return items
  }

  close() {
    this.isClosed = true
    this.#pause()
    document.removeEventListener("visibilitychange", this.#look)
    if (this.handle) this.#release()
  }

  #release() { request(`/v1/fetchResults/${this.handle.id}`, { method: "DELETE" }).catch(() => {}) }

  /// Only a visible page has a stream: browsers allow six connections.
  #look = () => { if (document.hidden) this.#pause(); else this.#open() }

  #pause() {
    this.#stream?.close()
    this.#stream = null
  }

  async #open() {
    await this.#work
    if (this.#stream || this.isClosed || document.hidden) return
    const source = this.#stream = new EventSource(`/v1/changes/stream?${query({ fetchResult: this.handle.id })}`)
    on(source, "change", ({ data }) => {
      this.#work = this.#work.then(() => this.#apply(JSON.parse(data), source)).catch(() => this.#restart())
    })
    on(source, "reload", () => this.#restart(0))
    on(source, "open", () => this.emit("online"))
    on(source, "error", () => {
      this.emit("offline")
      // The browser reconnects, unless the stream was refused.
      if (source.readyState === EventSource.CLOSED) this.#restart()
    })
  }

  async #apply(delta, source) {
    const after = delta.fetchResultAfterChanges
    const items = await updated(this.items, delta, (first, last) => this.read(after, first, last))
    // The next stream begins at the handle that this one left.
    if (source !== this.#stream) return
    this.items = items
    this.handle = after
    this.emit("change")
  }

  async #restart(delay = RETRY) {
    this.#pause()
    await new Promise((resume) => setTimeout(resume, delay))
    if (this.isClosed || this.#stream) return
    return this.load().then(() => this.emit("change"), () => { this.#restart() })
  }
}

/// The list after a delta. `read` reads items of the new list.
async function updated(items, { removedIndexes, insertedIndexes, changedIndexes, moves, ...delta }, read) {
  const { count } = delta.fetchResultAfterChanges
  if (!delta.hasIncrementalChanges) return read(0, count - 1)
  // Null is what has to be read.
  let result = filled(count, without(items, removedIndexes), insertedIndexes.map((index) => [index, null]))
  for (const index of changedIndexes) result[index] = null
  const moved = moves.map(({ from, to }) => [to, result[from]])
  result = filled(count, without(result, moves.map(({ from }) => from)), moved)
  const missing = result.flatMap((item, index) => item ? [] : index)
  for (const near of Map.groupBy(missing, (index) => Math.floor(index / NEAR)).values()) {
    const fresh = await read(near[0], near.at(-1))
    result.splice(near[0], fresh.length, ...fresh)
  }
  return result
}

function without(items, indexes) {
  const removed = new Set(indexes)
  return items.filter((_, index) => !removed.has(index))
}

/// `placed` items have their positions; the others fill the rest.
function filled(count, others, placed) {
  const items = new Map(placed), rest = others.values()
  return Array.from({ length: count }, (_, index) => items.has(index) ? items.get(index) : rest.next().value)
}

const FIELDS = "localIdentifier,contentVersion,mediaType,mediaSubtypes,duration,pixelWidth,pixelHeight,creationDate,"
  + "utcOffset,isFavorite,placeholder,isRAW,representsBurst,isAnimated"
const PAGE = 10000

/// With the properties of columns. A deleted asset has only its identifier.
export const listed = (asset) => ({
  mediaSubtypes: [], creationDate: "1970-01-01T00:00:00Z", ...asset, id: asset.localIdentifier, aspectRatio: asset.pixelWidth / asset.pixelHeight || 1,
})

/// The list of the page, first loaded as columns. Also emits "page" for the first page, then "loaded" and "kinds".
export class AssetList extends FetchResult {
  /// Without `hasOwnOrder`, it is by date.
  constructor({ hasOwnOrder, ...body }) {
    super(body, "assets", FIELDS)
    this.hasOwnOrder = hasOwnOrder
  }

  async load() {
    await super.load()
    this.emit("loaded")
    await this.#loadKinds().then(() => this.emit("kinds"), report)
  }

  /// Columns are quicker than the handle, read if the library has changed.
  async readAll() {
    const { collection, ...rest } = this.body
    const items = []
    // A list that is shown stays until the new one is complete.
    if (this.items.length === 0) this.items = items
    const path = collection ? `/v1/collections/${collection}/assets` : "/v1/assets"
    for await (const { changeToken, columns, count } of this.#pages(path, rest)) {
      if (changeToken !== this.handle.changeToken) return super.readAll()
      for (let index = 0; index < count; index++) {
        const asset = {}
        for (const name in columns) asset[name] = columns[name][index]
        asset.id = asset.localIdentifier
        asset.aspectRatio ||= 1
        items.push(asset)
      }
      if (items.length === Math.min(this.handle.count, PAGE)) this.emit("page")
    }
    this.items = items
  }

  async read(...range) { return (await super.read(...range)).map(listed) }

  /// Kinds without a column are requested after the first pictures.
  async #loadKinds() {
    for (const property of ["isRAW", "representsBurst", "isAnimated"]) {
      const parameters = { predicate: `${property} == YES`, fields: "localIdentifier", includeHiddenAssets: this.body.includeHiddenAssets }
      for await (const { columns } of this.#pages("/v1/assets", parameters)) {
        const found = new Set(columns.localIdentifier)
        for (const asset of this.items) if (found.has(asset.id)) asset[property] = true
      }
    }
  }

  async *#pages(path, parameters) {
    for (let next = `${path}?${query({ layout: "columns", limit: PAGE, ...parameters })}`; next && !this.isClosed;) {
      const found = await json(next)
      yield found
      next = found.next
    }
  }
}
