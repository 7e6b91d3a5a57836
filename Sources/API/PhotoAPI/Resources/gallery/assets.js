// The list that the page shows: a fetch result of the daemon, with a column for each property that the grid needs. Deltas
// are applied as FetchResults describes: removals, insertions, changes, moves.

import { json, post, query, request, stream } from "/gallery/api.js"
import { Emitter } from "/gallery/dom.js"

const FIELDS = [
  "localIdentifier", "contentVersion", "mediaType", "mediaSubtypes", "duration", "creationDate", "utcOffset",
  "isFavorite", "placeholder", "isRAW", "representsBurst",
]
const PAGE = 10000
const RANGE = 1000

export class AssetList extends Emitter {
  /// Each asset is {id, version, type, subtypes, duration, ratio, date, offset, isFavorite, placeholder, isRAW, isBurst}.
  assets = []
  count = 0
  #handle = null
  #stream = null
  #work = Promise.resolve()
  #isClosed = false

  /// `source` is {collection, search, predicate, includeHiddenAssets}.
  constructor(source) {
    super()
    this.source = source
  }

  /// Albums are in the order that the user gave them, everything else is by date.
  get hasOwnOrder() { return this.source.isAlbum === true && !this.source.search && !this.source.predicate }

  get #body() {
    const { isAlbum, ...body } = this.source
    return body
  }

  get handle() { return this.#handle?.id }

  /// Loads the whole list, a page at a time; "page" events tell when more can be shown.
  async load() {
    for (let turn = 0; ; turn++) {
      this.#handle = await post("/v1/fetchResults", this.#body)
      this.count = this.#handle.count
      this.assets = []
      if (await this.#loadColumns(turn === 2)) break
      // The library changed between two pages.
      await this.#release(this.#handle)
    }
    if (this.#isClosed) return
    this.#follow()
    await this.#loadKinds()
  }

  /// Columns have no property for RAW files and bursts: the smart albums of both are read after the first pictures.
  async #loadKinds() {
    const { collections } = await json("/v1/collections?type=smartAlbum")
    const kinds = { smartAlbumRAW: "isRAW", smartAlbumBursts: "isBurst" }
    for (const album of collections) {
      const kind = kinds[album.subtype]
      if (!kind || album.estimatedAssetCount === 0) continue
      let next = `/v1/collections/${album.localIdentifier}/assets?${query({ layout: "columns", limit: PAGE, fields: "localIdentifier" })}`
      while (next && !this.#isClosed) {
        const page = await json(next)
        const found = new Set(page.columns.localIdentifier)
        for (const asset of this.assets) if (found.has(asset.id)) asset[kind] = true
        next = page.next
      }
    }
    this.emit("kinds")
  }

  close() {
    this.#isClosed = true
    this.#stream?.close()
    if (this.#handle) this.#release(this.#handle)
  }

  async #release(handle) {
    await request(`/v1/fetchResults/${handle.id}`, { method: "DELETE" }).catch(() => {})
  }

  /// Returns false if the pages are not of one state. The last attempt reads the handle, which is slower and always is.
  async #loadColumns(isLast) {
    const { collection, ...rest } = this.#body
    const path = collection ? `/v1/collections/${encodeURIComponent(collection)}/assets` : "/v1/assets"
    let next = isLast ? null : `${path}?${query({ layout: "columns", limit: PAGE, ...rest })}`
    while (next && !this.#isClosed) {
      const page = await json(next)
      if (page.changeToken !== this.#handle.changeToken) return false
      const columns = page.columns
      for (let index = 0; index < page.count; index++) {
        this.assets.push({
          id: columns.localIdentifier[index], version: columns.contentVersion[index], type: columns.mediaType[index],
          subtypes: columns.mediaSubtypes[index], duration: columns.duration[index],
          ratio: columns.aspectRatio[index] || 1, date: columns.creationDate[index], offset: columns.utcOffset[index],
          isFavorite: columns.isFavorite[index], placeholder: columns.placeholder[index],
        })
      }
      next = page.next
      this.emit("page")
    }
    if (isLast) this.assets = await this.#read(this.#handle.id, [[0, this.count - 1]])
    return true
  }

  /// The assets at these ranges of positions.
  async #read(handle, ranges) {
    const assets = []
    for (const [first, last] of ranges) {
      for (let start = first; start <= last; start += RANGE) {
        const end = Math.min(last, start + RANGE - 1)
        const fields = [...FIELDS, "pixelWidth", "pixelHeight"].join()
        const page = await json(`/v1/fetchResults/${handle}/assets?${query({ range: `${start}-${end}`, fields })}`)
        for (const asset of page.assets) {
          assets.push({
            id: asset.localIdentifier, version: asset.contentVersion, type: asset.mediaType,
            subtypes: asset.mediaSubtypes ?? [], duration: asset.duration ?? 0,
            ratio: asset.pixelWidth / asset.pixelHeight || 1, date: asset.creationDate ?? "1970-01-01T00:00:00Z",
            offset: asset.utcOffset, isFavorite: asset.isFavorite, placeholder: asset.placeholder,
            isRAW: asset.isRAW, isBurst: asset.representsBurst,
          })
        }
      }
    }
    return assets
  }

  // Changes

  #follow() {
    // After the deltas that are on their way.
    const parameters = () => this.#work.then(() => ({ fetchResult: this.#handle.id }))
    this.#stream = stream(parameters, {
      // One after the other: each delta is of the list that the previous one left.
      change: (delta) => { this.#work = this.#work.then(() => this.#apply(delta)).catch((error) => this.#fail(error)) },
      reload: () => this.#restart(),
      open: () => this.emit("online"),
      error: (isClosed) => {
        this.emit("offline")
        // A closed stream was refused: its handle has ended.
        if (isClosed && !this.#isClosed) setTimeout(() => this.#restart(), 3000)
      },
    })
  }

  #fail(error) { this.emit("failure", error) }

  async #restart() {
    if (this.#isClosed) return
    this.#stream?.close()
    try {
      await this.load()
      this.emit("change", { isWhole: true })
    } catch (error) {
      this.#fail(error)
      if (!this.#isClosed) setTimeout(() => this.#restart(), 5000)
    }
  }

  async #apply(delta) {
    if (this.#isClosed) return
    const after = delta.fetchResultAfterChanges
    this.assets = await updated(this.assets, delta, (ranges) => this.#read(after.id, ranges))
    this.#handle = after
    this.count = after.count
    this.emit("change", delta)
  }
}

/// Returns the list after a delta. `read(ranges)` reads items of the new list.
export async function updated(items, delta, read) {
  const { count } = delta.fetchResultAfterChanges
  if (!delta.hasIncrementalChanges) return read(count > 0 ? [[0, count - 1]] : [])
  // New and changed items, by their position before the moves, are read at their position after them.
  const place = positionsAfterMoves(count, delta.moves)
  const wanted = [...delta.insertedIndexes, ...delta.changedIndexes].map((position) => place(position)).sort((a, b) => a - b)
  const ranges = []
  for (const position of wanted) {
    const last = ranges.at(-1)
    if (last && position - last[1] <= 8) last[1] = position
    else ranges.push([position, position])
  }
  const fresh = await read(ranges)
  const byPosition = new Map()
  let index = 0
  for (const [first, last] of ranges) {
    for (let position = first; position <= last; position++) byPosition.set(position, fresh[index++])
  }
  return applyDelta(items, delta, (position) => byPosition.get(place(position)))
}

/// Applies a delta; `read(position)` is a new or changed asset, by its position before the moves.
function applyDelta(assets, delta, read) {
  const removed = new Set(delta.removedIndexes)
  let result = removed.size > 0 ? assets.filter((_, index) => !removed.has(index)) : assets.slice()
  if (delta.insertedIndexes.length > 0) {
    const merged = []
    const inserted = new Set(delta.insertedIndexes)
    let old = 0
    for (let position = 0; position < result.length + inserted.size; position++) {
      merged.push(inserted.has(position) ? read(position) : result[old++])
    }
    result = merged
  }
  for (const position of delta.changedIndexes) result[position] = read(position)
  if (delta.moves.length === 0) return result
  const place = positionsAfterMoves(result.length, delta.moves)
  const moved = new Array(result.length)
  result.forEach((asset, position) => { moved[place(position)] = asset })
  return moved
}

/// The function from a position before the moves to the one after them: moved assets are taken out and put at their
/// places, and the others fill the rest in their order.
function positionsAfterMoves(count, moves) {
  if (moves.length === 0) return (position) => position
  const target = new Map(moves.map(({ from, to }) => [from, to]))
  const taken = new Set(target.values())
  const places = new Int32Array(count)
  let next = 0
  for (let position = 0; position < count; position++) {
    if (target.has(position)) { places[position] = target.get(position); continue }
    while (taken.has(next)) next += 1
    places[position] = next++
  }
  return (position) => places[position]
}
