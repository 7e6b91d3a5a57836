// POST /v1/images: many renditions in one answer, in the order in which they are ready.

import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel

struct BatchRoute: Sendable {
  private static let mostAssets = 500
  private static let mostTagBytes = 1024

  let library: any AssetSource
  let images: ImageManager
  /// Where answers are put together that wait for pictures or for their reader.
  let queue: WorkQueue
  let logger: Logger

  /// One of those that are asked for.
  private struct Wanted {
    let identifier: LocalIdentifier
    /// Entity tags of frames that the client has.
    let ifNoneMatch: String?
  }

  /// Answers on the lookup queue: all assets by one look into the library, then whatever is there at once.
  func answer(_ request: HTTPRequest, _ principal: Principal, _ reply: Reply) throws(Problem) {
    try QueryReader(request.target).finish()
    var body = try JSONObjectReader(request)
    let wanted = try Self.wanted(&body)
    var reader = RenditionReader()
    try reader.readSize(&body)
    try reader.readOptions(&body, deliveryModes: [.highQualityFormat, .fastFormat])
    try body.finish()
    guard let wanted else { throw Self.invalidAssets }
    let query = try reader.query()
    let accept = Accept(request.head.value(of: .accept))
    guard Self.isAcceptable(accept) else { throw Self.notAcceptable }
    let assets: [Asset?]
    do throws(AssetSourceError) {
      assets = try library.assets(named: wanted.map(\.identifier), for: principal)
    } catch {
      logger.error("the catalogue can't be read", metadata: ["error": "\(error)"])
      throw Problem(error)
    }
    let entries = zip(wanted, assets).enumerated().map { index, pair in
      entry(index, pair.0, pair.1, query, accept, reply)
    }
    var caller = ImageManager.Caller(requestID: reply.requestID, owner: principal.name)
    caller.priority = ImagePriority(request.head)
    caller.parameters = query.parameters
    let delivery = BatchDelivery(entries, images: images, caller: caller, reply: reply, queue: queue, logger: logger)
    reply.onClose { delivery.close() }
    delivery.begin()
  }

  private func entry(
    _ index: Int, _ wanted: Wanted, _ asset: Asset?, _ query: ImageQuery, _ accept: Accept, _ reply: Reply
  ) -> BatchDelivery.Entry {
    let location = Self.location(wanted.identifier, query)
    func problem(_ problem: Problem) -> BatchDelivery.Entry { .problem(problem, location: location) }
    guard let asset else { return problem(.assetNotFound) }
    if let reason = Problem(showing: asset, query.imageVersion) { return problem(reason) }
    do throws(Problem) {
      let request = try query.request(for: asset, accept: accept)
      let headers = ImageHeaders(asset: asset, query: query, request: request, isPublic: false)
      if let tags = wanted.ifNoneMatch, request.deliveryMode != .fastFormat,
        let derivation = headers.derivation(namedIn: [tags])
      {
        return .notModified(tag: headers.key.entityTag(derivation), location: location)
      }
      return .frame(
        BatchDelivery.Frame(index: index, asset: asset, request: request, headers: headers, location: location))
    } catch {
      return problem(error)
    }
  }

  /// The answer has one form, and Accept mostly speaks of the pictures in it: it is refused by one who says so, and by one
  /// who takes neither.
  private static func isAcceptable(_ accept: Accept) -> Bool {
    if accept.refuses("multipart/mixed") { return false }
    return accept.namesFamily("multipart")
      || (["multipart/mixed"] + OutputFormat.allCases.map(\.mediaType)).contains { accept.quality(of: $0) > 0 }
  }

  private static let notAcceptable = Problem(
    406, "not-acceptable", "Not acceptable",
    detail: "The answer is multipart/mixed with a picture in each part, and the request's Accept allows no such thing.")

  /// Where the same frame is to be had alone.
  private static func location(_ identifier: LocalIdentifier, _ query: ImageQuery) -> String {
    let parameters = query.parameters.sorted { $0.key < $1.key }
      .map { "\(RequestTarget.encoded($0.key))=\(RequestTarget.encoded($0.value))" }.joined(separator: "&")
    return "/v1/assets/\(identifier.rawValue)/image" + (parameters.isEmpty ? "" : "?\(parameters)")
  }

  private static let invalidAssets = QueryReader.invalid(
    "assets", "is a list of 1 to \(mostAssets) localIdentifiers, or objects of asset and ifNoneMatch")

  private static func wanted(_ body: inout JSONObjectReader) throws(Problem) -> [Wanted]? {
    guard let value = body.value("assets") else { return nil }
    guard case .list(let list) = value, (1...mostAssets).contains(list.count) else { throw invalidAssets }
    var wanted: [Wanted] = []
    for item in list {
      switch item {
      case .text(let text):
        wanted.append(Wanted(identifier: try LocalIdentifier(parameter: text, "assets"), ifNoneMatch: nil))
      case .object(let members):
        var entry = JSONObjectReader(members)
        guard let text = try entry.text("asset") else { throw invalidAssets }
        let tags = try entry.text("ifNoneMatch")
        try entry.finish()
        if let tags, tags == "*" || tags.utf8.count > mostTagBytes {
          throw QueryReader.invalid("ifNoneMatch", "is an ETag, or several with commas between them")
        }
        wanted.append(Wanted(identifier: try LocalIdentifier(parameter: text, "assets"), ifNoneMatch: tags))
      default: throw invalidAssets
      }
    }
    return wanted
  }
}
