import HTTPCore
import ImageCodec
import ImageService
import Logging
import MediaMetadata
import OriginalStore
import PhotoModel

/// `GET /v1/assets/{localIdentifier}/metadata`: everything that the original's metadata says, by name, read from the file each time.
struct MetadataRoute: Sendable {
  private static let cacheControl = "private, max-age=0, must-revalidate"
  /// Goes up whenever the same file would be read differently, so that nobody keeps an answer of another daemon's.
  private static let epoch = 1

  let library: any AssetSource
  let originals: OriginalStore
  let limits: CodecLimits
  let logger: Logger

  /// Answers on the lookup queue; blocks for as long as the catalogue and the file system do.
  func answer(_ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal) throws(Problem)
    -> HTTPResponse
  {
    try QueryReader(request.target).finish()
    let asset: Asset?
    do throws(AssetSourceError) {
      asset = try library.asset(identifier, for: principal)
    } catch {
      logger.error("the catalogue can't be read", metadata: ["error": "\(error)"])
      throw Problem(error)
    }
    guard let asset else { throw .assetNotFound }
    let includesPlaces = principal.may(.location)
    let tag = "\"\(asset.contentVersion.rawValue)-m\(Self.epoch)\(includesPlaces ? "-l" : "")\""
    // Whoever has it is told so before anything is opened.
    if let notModified = JSONAnswer.notModified(request.head, tag: tag, cacheControl: Self.cacheControl) {
      return notModified
    }
    let metadata = try read(asset, includesPlaces: includesPlaces)
    return JSONAnswer(JSONBody.encode(MetadataJSON(metadata)), tag: tag, cacheControl: Self.cacheControl)
      .response(to: request.head)
  }

  private func read(_ asset: Asset, includesPlaces: Bool) throws(Problem) -> FileMetadata {
    do throws(ImageServiceError) {
      return try metadata(of: asset.original, includesPlaces: includesPlaces)
    } catch {
      let problem = Problem(error)
      if problem.status == 500 {
        logger.error(
          "metadata can't be read", metadata: ["path": "\(asset.original.displayPath)", "error": "\(error)"])
      }
      throw problem
    }
  }

  private func metadata(of original: OriginalFile, includesPlaces: Bool) throws(ImageServiceError) -> FileMetadata {
    let source: any ByteSource
    do throws(OriginalStoreError) { source = try originals.open(original) } catch { throw ImageServiceError(error) }
    let metadata: FileMetadata
    do throws(CodecError) {
      metadata = try FileMetadata.read(from: source, limits: limits, includesPlaces: includesPlaces)
    } catch {
      throw .codec(error)
    }
    // Written to while it was read: what was read may be of two files.
    guard source.isUnchanged else { throw .originalChanged }
    return metadata
  }
}

/// A file's metadata as clients see it: a member for each section that there is, and `incomplete`.
private struct MetadataJSON: Encodable {
  private let metadata: FileMetadata

  init(_ metadata: FileMetadata) {
    self.metadata = metadata
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    for (name, section) in metadata.sections { try object.encode(section, forKey: Key(stringValue: name)) }
    try object.encode(metadata.incomplete, forKey: Key(stringValue: "incomplete"))
  }
}
