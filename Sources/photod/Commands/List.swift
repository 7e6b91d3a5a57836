import ArgumentParser
import Foundation
import LibraryCatalogue
import LibraryFolder
import PhotoModel
import PhotoPredicate
import Primitives

/// Lists assets for scripts, a page of the catalogue at a time.
struct List: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls",
    abstract: "List the assets of the library, one line each.",
    discussion: """
      Reads the catalogue, so `photod scan` or the daemon must have run before. Safe while a daemon runs. A line has the \
      identifier, the creation date, the uniform type identifier, the size in bytes and the path, separated by tabs. In \
      the path, \\xHH is a byte that is not printable text, and two backslashes stand for one.

      photod ls "isFavorite == YES AND mediaType == image" --sort -fileSize --limit 10
      """)

  @OptionGroup var common: CommonOptions

  @Argument(help: "A predicate, as in GET /v1/assets.")
  var predicate: String?

  @Option(help: "Words and quoted phrases, as in GET /v1/assets?search=.")
  var search: String?

  @Option(
    parsing: .unconditional, help: "Sort descriptors, such as -creationDate,originalFilename. Default: newest first.")
  var sort: String?

  @Option(help: "Maximum number of assets. Default: all.")
  var limit: Int?

  @Flag(help: "Print one JSON object a line.")
  var json = false

  @Flag(help: "Include hidden assets.")
  var includeHidden = false

  @Flag(help: "Include burst pictures that another one represents.")
  var includeAllBurstAssets = false

  private static let pageSize = 1000

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit must be at least 1, not \(limit)") }
    _ = try fetch()
  }

  func run() async throws {
    let fetch = try fetch()
    let dataFolder = try common.settings().dataFolder()
    do {
      let catalogue = try Catalogue(reading: dataFolder)
      var page = FetchPageRequest(limit: Self.pageSize)
      repeat {
        let assets = try catalogue.assets(fetch, page, for: .local)
        for asset in assets.assets { print(json ? try Self.object(asset) : Self.line(asset)) }
        page.cursor = assets.nextCursor
      } while page.cursor != nil
    } catch let error as AssetSourceError {
      throw CommandFailure(description: "\(LibraryError(error, dataFolder: dataFolder))")
    }
  }

  private func fetch() throws -> AssetFetch {
    var fetch = AssetFetch()
    do {
      fetch.predicate = try predicate.map { try FetchPredicate($0, schema: .asset, principal: .local) }
      fetch.sort = try sort.map { try FetchSortDescriptors($0, schema: .asset, principal: .local) }
      fetch.search = try search.map { AssetSearch(try SearchQuery($0), for: .local) }
    } catch let error as SearchError {
      throw ValidationError("--search \(error)")
    } catch {
      throw ValidationError("\(error)")
    }
    fetch.fetchLimit = limit
    fetch.includesHidden = includeHidden
    fetch.includesAllBurstAssets = includeAllBurstAssets
    return fetch
  }

  private static func date(_ asset: Asset) -> String {
    RFC3339.text(millisecondsSince1970: asset.creationDate.milliseconds)
  }

  private static func line(_ asset: Asset) -> String {
    [
      asset.localIdentifier.rawValue, date(asset), asset.uniformTypeIdentifier, "\(asset.original.identity.size)",
      LibraryPath.escaped(asset.original.path),
    ].joined(separator: "\t")
  }

  private static func object(_ asset: Asset) throws -> String {
    struct Line: Encodable {
      let localIdentifier, creationDate, uniformTypeIdentifier, relativePath: String
      let fileSize: Int64
      let pixelWidth, pixelHeight: Int
      let isFavorite: Bool
    }
    let line = Line(
      localIdentifier: asset.localIdentifier.rawValue, creationDate: date(asset),
      uniformTypeIdentifier: asset.uniformTypeIdentifier, relativePath: asset.original.displayPath,
      fileSize: asset.original.identity.size, pixelWidth: asset.pixelSize.width, pixelHeight: asset.pixelSize.height,
      isFavorite: asset.isFavorite)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(line), as: UTF8.self)
  }
}
