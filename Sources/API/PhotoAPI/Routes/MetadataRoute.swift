import HTTPCore
import ImageCodec
import ImageService
import Logging
import PhotoModel

/// `GET /v1/assets/{localIdentifier}/metadata`: all metadata of the original, by name. Reads the file on each request.
struct MetadataRoute: Sendable {
  private static let cacheControl = "private, max-age=0, must-revalidate"
  /// Increased whenever the same file would be read differently, so that cached responses of older daemons become
  /// invalid.
  private static let epoch = 2

  let queries: QueryService
  let originals: OriginalStore
  let downloads: RouteDownloads
  /// Reads of the library. The disk may be slow, and the lookup queue must not wait for it.
  let reads: WorkQueue
  let limits: CodecLimits
  let logger: Logger

  /// Reads the catalogue on the lookup queue, and the file on the queue of reads.
  func answer(_ identifier: LocalIdentifier, _ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    var query = try QueryReader(routed.target)
    let allowsNetwork = try query.flag("networkAccessAllowed")
    try query.finish()
    try routed.run(on: queries.lookups) { () throws(Problem) in
      let asset = try queries.asset(identifier, principal)
      try routed.run(on: reads) { () throws(Problem) in
        try downloads.run(
          asset.original, allowsNetwork: allowsNetwork, for: routed.reply, on: reads
        ) { () throws(Problem) in
          routed.reply.send(try answer(asset, routed.request, principal))
        }
      }
    }
  }

  private func answer(
    _ asset: Asset, _ request: HTTPRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    let forms = (principal.may(.location) ? "-l" : "") + (principal.mayReadNames ? "" : "-n")
    let tag = "\"\(asset.contentVersion.rawValue)-m\(Self.epoch)\(forms)\""
    // Send 304 before opening the file.
    if let notModified = JSONResponse.notModified(request.head, tag: tag, cacheControl: Self.cacheControl) {
      return notModified
    }
    let metadata = try read(asset, principal)
    return JSONResponse(JSONBody.encode(MetadataJSON(metadata)), tag: tag, cacheControl: Self.cacheControl)
      .response(to: request.head)
  }

  private func read(_ asset: Asset, _ principal: Principal) throws(Problem) -> FileMetadata {
    do throws(ImageServiceError) {
      return try metadata(of: asset.original, principal)
    } catch {
      let problem = Problem(error)
      if problem.status == 500 {
        logger.error(
          "metadata read failed", metadata: ["path": "\(asset.original.displayPath)", "error": "\(error)"])
      }
      throw problem
    }
  }

  private func metadata(
    of original: OriginalFile, _ principal: Principal
  ) throws(ImageServiceError) -> FileMetadata {
    let source: any ByteSource
    do throws(OriginalStoreError) { source = try originals.open(original) } catch { throw ImageServiceError(error) }
    let metadata: FileMetadata
    do throws(CodecError) {
      metadata = try FileMetadata.read(
        from: source, limits: limits, includesLocations: principal.may(.location),
        includesNames: principal.mayReadNames)
    } catch {
      throw .codec(error)
    }
    // The file was written to while it was read: the metadata may mix two versions.
    guard source.isUnchanged else { throw .originalChanged }
    return metadata
  }
}

/// A file's metadata as clients see it: one member for each section of the file, and `incomplete`.
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
