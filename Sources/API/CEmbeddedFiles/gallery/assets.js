// The list of the page: a fetch result over assets, first loaded as columns.

import { json, query } from "./api.js"
import { report } from "./dialogs.js"
import { FetchResult } from "./fetchresult.js"

const FIELDS = "localIdentifier,contentVersion,mediaType,mediaSubtypes,duration,pixelWidth,pixelHeight,creationDate,"
  + "utcOffset,isFavorite,placeholder,isRAW,representsBurst,isAnimated"
const PAGE = 10000

/// With the properties of columns. A deleted asset has only its identifier.
export const listed = (asset) => ({
  mediaSubtypes: [], creationDate: "1970-01-01T00:00:00Z", ...asset, aspectRatio: asset.pixelWidth / asset.pixelHeight || 1,
})

/// Also emits "page" for the first page, "loaded", and then "kinds".
export class AssetList extends FetchResult {
  /// `source` is {collection, isAlbum, search, predicate, includeHiddenAssets}.
  constructor({ isAlbum, ...body }) {
    super(body, "assets", FIELDS)
    /// Albums are in the user's order, all else is by date.
    this.hasOwnOrder = isAlbum && !body.search && !body.predicate
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
        for (const asset of this.items) if (found.has(asset.localIdentifier)) asset[property] = true
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
