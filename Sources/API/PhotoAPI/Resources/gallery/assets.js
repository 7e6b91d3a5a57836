// The list that the page shows: a fetch result of the daemon, with a column for each property that the grid needs. Deltas
// are applied as FetchResults describes: removals, insertions, changes, moves.

import { json, post, query, request, stream } from "/gallery/api.js"

const FIELDS = [
  "localIdentifier", "contentVersion", "mediaType", "mediaSubtypes", "duration", "creationDate", "utcOffset",
  "isFavorite", "placeholder",
]
const PAGE = 10000
const RANGE = 1000

export class AssetList extends EventTarget {
  /// Each asset is {id, version, type, subtypes, duration, ratio, date, offset, isFavorite, placeholder}.
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

  get handle() { return this.#handle?.id }

  /// Loads the whole list, a page at a time; "page" events tell when more can be shown.
  async load() {
    for (let turn = 0; ; turn++) {
      this.#handle = await post("/v1/fetchResults", this.source)
      this.count = this.#handle.count
      this.assets = []
      if (await this.#loadColumns(turn === 2)) break
      // The library changed between two pages.
      await this.#release(this.#handle)
    }
    if (!this.#isClosed) this.#follow()
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
    const { collection, ...rest } = this.source
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
      this.dispatchEvent(new Event("page"))
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
          })
        }
      }
    }
    return assets
  }

  // Changes

  #follow() {
    this.#stream = stream({ fetchResult: this.#handle.id }, {
      // One after the other: each delta is of the list that the previous one left.
      change: (delta) => { this.#work = this.#work.then(() => this.#apply(delta)).catch((error) => this.#fail(error)) },
      reload: () => this.#restart(),
      open: () => this.dispatchEvent(new Event("online")),
      error: (isClosed) => {
        this.dispatchEvent(new Event("offline"))
        // A closed stream was refused: its handle has ended.
        if (isClosed && !this.#isClosed) setTimeout(() => this.#restart(), 3000)
      },
    })
  }

  #fail(error) { this.dispatchEvent(new CustomEvent("failure", { detail: error })) }

  async #restart() {
    if (this.#isClosed) return
    this.#stream?.close()
    try {
      await this.load()
      this.dispatchEvent(new CustomEvent("change", { detail: { isWhole: true } }))
    } catch (error) {
      this.#fail(error)
      if (!this.#isClosed) setTimeout(() => this.#restart(), 5000)
    }
  }

  async #apply(delta) {
    if (this.#isClosed) return
    const after = delta.fetchResultAfterChanges
    if (!delta.hasIncrementalChanges) {
      this.assets = await this.#read(after.id, [[0, after.count - 1]])
    } else {
      const fresh = [...delta.insertedIndexes, ...delta.changedIndexes].sort((a, b) => a - b)
      this.assets = applyDelta(this.assets, delta, await this.#readAfter(after, delta, fresh))
    }
    this.#handle = after
    this.count = after.count
    this.dispatchEvent(new CustomEvent("change", { detail: delta }))
  }

  /// New and changed assets by their position before the moves, read at their position after them.
  async #readAfter(after, delta, positions) {
    const place = positionsAfterMoves(after.count, delta.moves)
    const wanted = positions.map((position) => place(position)).sort((a, b) => a - b)
    const ranges = []
    for (const position of wanted) {
      const last = ranges.at(-1)
      if (last && position - last[1] <= 8) last[1] = position
      else ranges.push([position, position])
    }
    const assets = await this.#read(after.id, ranges)
    const byPosition = new Map()
    let index = 0
    for (const [first, last] of ranges) {
      for (let position = first; position <= last; position++) byPosition.set(position, assets[index++])
    }
    return (position) => byPosition.get(place(position))
  }
}

/// Applies a delta; `read(position)` is a new or changed asset, by its position before the moves.
export function applyDelta(assets, delta, read) {
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
