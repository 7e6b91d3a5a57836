import HTTPCore
import ImageService
import PhotoModel

/// The header fields of an image response.
struct ImageHeaders: Sendable {
  private(set) var wanted: ResolvedRequest
  private let isVersioned: Bool
  private let isPublic: Bool
  private let links: String?
  /// Whether photod chose the format (`format=auto`).
  private let isAutomatic: Bool
  private let acceptsRanges: Bool
  /// Whether a smaller encoding has replaced the first response.
  private(set) var isUpgraded = false

  /// - Parameters:
  ///   - isAutomatic: whether photod chose the format (`format=auto`).
  ///   - links: the value of `Link`; `nil` for none.
  ///   - isVersioned: whether the request names the content version, so that its frame never changes.
  ///   - isPublic: whether shared caches may store the frame.
  ///   - acceptsRanges: whether a response with one frame announces ranges.
  init(
    _ wanted: ResolvedRequest, isAutomatic: Bool, links: String? = nil, isVersioned: Bool, isPublic: Bool,
    acceptsRanges: Bool = true
  ) {
    self.wanted = wanted
    self.isAutomatic = isAutomatic
    self.isPublic = isPublic
    self.acceptsRanges = acceptsRanges
    self.isVersioned = isVersioned
    self.links = links
  }

  var key: RenditionKey { wanted.key }

  /// The fields of the smaller encoding that has replaced this one.
  func upgraded(to smaller: ResolvedRequest) -> ImageHeaders {
    var copy = self
    copy.wanted = smaller
    copy.isUpgraded = true
    return copy
  }

  /// Whether the response to a request is the smaller encoding that has replaced this frame. A client that already has
  /// this frame gains nothing from other bytes of the same picture, but a shared cache passes the smaller ones on to
  /// its clients.
  ///
  /// - Parameter tags: the request's lists of entity tags.
  func isReplaced(for tags: [String]) -> Bool { isPublic || derivation(matching: tags) == nil }

  /// The value of `Image-Result`, with the format if photod chose it.
  private func resultField(_ result: ImageResult, _ format: OutputFormat, _ derivation: Derivation) -> String {
    let field = result.fieldValue + (derivation.isTranscoded ? ", transcoded=?1" : "")
    guard isAutomatic else { return field }
    return "\(field), format=\(format.rawValue)" + (isUpgraded ? ", upgraded=?1" : "")
  }

  /// The value of `Image-Result` for a part of a response with several parts.
  private func partField(_ frame: ImageFrame) -> String {
    frame.result.fieldValue + (frame.derivation.isTranscoded ? ", transcoded=?1" : "")
  }

  private var request: ImageRequest { wanted.request }

  var mediaType: String { request.format.mediaType }

  /// The validators of a frame; without an entity tag if `derivation` is `nil`.
  func validators(_ derivation: Derivation?) -> Validators {
    Validators(
      entityTag: derivation.map { key.entityTag($0) }, changed: wanted.asset.pictureModificationSeconds)
  }

  /// The derivation named by `If-None-Match`. All derivations show the same picture, so a client with any of them is
  /// current. `nil`: the field names none of ours, or any (`*`), or there is also `If-Match`: its client asks for the
  /// bytes of one derivation, so both fields are compared with the tag of the frame that is sent.
  func currentDerivation(_ head: RequestHead) -> Derivation? {
    guard !head.has(.ifMatch), let list = head.value(of: .ifNoneMatch) else { return nil }
    return derivation(matching: [list])
  }

  /// Whether `If-Match` names a frame of this picture. Which of them is sent may not be known before it is rendered.
  func mayMeetMatch(_ head: RequestHead) -> Bool {
    guard let list = head.value(of: .ifMatch) else { return false }
    return derivation(matching: [list]) != nil
  }

  /// The derivation that lists of entity tags name. `nil`: they name none of ours, or any (`*`).
  func derivation(matching lists: [String]) -> Derivation? {
    let lists = lists.filter { !Self.matchesAny($0) }
    guard !lists.isEmpty else { return nil }
    return Derivation.all(of: request.format).first { derivation in
      let tag = key.entityTag(derivation)
      return lists.contains { EntityTagList.matches(tag, in: $0, weakly: true) }
    }
  }

  /// Whether a list of entity tags has a `*`, so that any frame matches it.
  static func matchesAny(_ list: String) -> Bool { EntityTagList.matches(nil, in: list, weakly: true) }

  /// Whether a final, complete frame has validators. Otherwise conditions are ignored.
  var mayHaveValidators: Bool { request.deliveryMode != .fastFormat }

  /// Whether a frame is final and complete, so that it has validators and caches may store it.
  func isStorable(_ frame: ImageFrame) -> Bool {
    !frame.result.isDegraded && !frame.result.isIncomplete && mayHaveValidators
  }

  /// The fields that let caches store a final, complete frame; also the fields of a 304.
  func validatorFields(_ derivation: Derivation) -> [(name: String, value: String)] {
    let validators = validators(derivation)
    return [("ETag", validators.entityTag ?? "")] + validators.lastModifiedField
      + [("Cache-Control", isPublic ? "public, \(lifetime)" : "private, \(lifetime)")] + linkFields
  }

  /// The head of a response with one frame.
  func single(_ frame: ImageFrame) -> [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = [("Content-Type", frame.format.mediaType)]
    fields += isStorable(frame) ? validatorFields(frame.derivation) + rangeFields : noStoreFields
    fields.append(("Image-Result", resultField(frame.result, frame.format, frame.derivation)))
    // A cached frame has no timings.
    let timing = frame.timings.serverTiming
    if !timing.isEmpty { fields.append(("Server-Timing", timing)) }
    return fields + Self.nosniff
  }

  /// The head of a multipart response. It has the request's identifier, so that a client can cancel the request before
  /// the first frame.
  func multipart(_ form: DeliveryForm, boundary: String, requestID: String) -> [(name: String, value: String)] {
    let type = form == .replace ? "multipart/x-mixed-replace" : "multipart/mixed"
    return [("Content-Type", "\(type); boundary=\(boundary)")] + noStoreFields
      + [("Image-Result", "request-id=\"\(requestID)\"")] + Self.nosniff
  }

  /// The head of a part of `multipart/mixed`.
  func part(_ frame: ImageFrame, isFinal: Bool) -> [(name: String, value: String)] {
    var fields = [
      ("Content-Type", frame.format.mediaType), ("Content-Length", String(frame.bytes.count)),
      ("Image-Result", partField(frame)),
    ]
    if isFinal && !frame.result.isIncomplete && !frame.result.isDegraded {
      fields.append(("ETag", key.entityTag(frame.derivation)))
    }
    return fields
  }

  /// The head of a part of a batch response.
  func batchPart(_ frame: ImageFrame, location: String) -> [(name: String, value: String)] {
    var fields = [
      ("Content-Type", frame.format.mediaType), ("Content-Length", String(frame.bytes.count)),
      ("Content-Location", location),
    ]
    if isStorable(frame) { fields += batchValidators(frame.derivation) }
    fields.append(("Image-Result", "status=200, " + partField(frame)))
    return fields
  }

  /// The head of a part of a batch response whose frame the client has.
  func batchNotModifiedPart(_ derivation: Derivation, location: String) -> [(name: String, value: String)] {
    [("Content-Length", "0"), ("Content-Location", location)] + batchValidators(derivation)
      + [("Image-Result", "status=304")]
  }

  private func batchValidators(_ derivation: Derivation) -> [(name: String, value: String)] {
    [("ETag", key.entityTag(derivation))] + (isVersioned ? [("Cache-Control", "private, \(lifetime)")] : [])
  }

  /// The head of the last part of `multipart/mixed` if the final frame failed.
  func part(_ problem: Problem, body: [UInt8], requestID: String) -> [(name: String, value: String)] {
    let facts = (problem.isInCloud ? "in-cloud=?1, " : "") + (problem.isCancellation ? "cancelled=?1" : "cancelled=?0")
    return [
      ("Content-Type", Problem.mediaType), ("Content-Length", String(body.count)),
      ("Image-Result", "request-id=\"\(requestID)\", status=\(problem.status), \(facts)"),
    ]
  }

  /// The fields of the response to HEAD: everything that is known without rendering. Without an entity tag while only a
  /// render can tell whether the original is complete: GET of an incomplete frame has none.
  ///
  /// - Parameter derivation: how the frame would be made now.
  func headRequestFields(
    _ form: DeliveryForm, _ derivation: Derivation, requestID: String, isHDR: Bool = false
  ) -> [(name: String, value: String)] {
    guard form == .single else { return multipart(form, boundary: Boundary.make(), requestID: requestID) }
    var fields: [(name: String, value: String)] = [("Content-Type", mediaType)]
    if request.deliveryMode == .fastFormat { return fields + noStoreFields + Self.nosniff }
    let result = ImageResult(
      requestID: requestID, isDegraded: false, size: wanted.sized.outputSize, source: derivation.source,
      isHDR: isHDR)
    fields += derivation.promisesCompleteFrame ? validatorFields(derivation) + rangeFields : noStoreFields + linkFields
    fields.append(("Image-Result", resultField(result, request.format, derivation)))
    return fields + Self.nosniff
  }

  /// The fields of a response that is the original's own bytes, without `Content-Type`.
  func fileFields(requestID: String, isHDR: Bool) -> [(name: String, value: String)] {
    headRequestFields(.single, .file, requestID: requestID, isHDR: isHDR)
      .filter { $0.name != "Content-Type" }
  }

  private var linkFields: [(name: String, value: String)] {
    guard let links else { return [] }
    return [("Link", links)]
  }

  private var rangeFields: [(name: String, value: String)] { acceptsRanges ? [("Accept-Ranges", "bytes")] : [] }

  private static let nosniff = [(name: "X-Content-Type-Options", value: "nosniff")]

  private var noStoreFields: [(name: String, value: String)] { [("Cache-Control", "no-store")] }

  private var lifetime: String { isVersioned ? "max-age=31536000, immutable" : "max-age=0, must-revalidate" }
}

/// A multipart boundary that does not occur in a picture by chance: 128 random bits.
enum Boundary {
  static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    return "photod-" + (0..<2).map { _ in String(generator.next() as UInt64, radix: 36) }.joined()
  }
}

extension Derivation {
  /// The source that the frame is made from.
  fileprivate var source: ImageResult.Source {
    switch self {
    case .original, .sharedDecode, .file, .tile: .original
    case .derivative: .derivative
    case .transcoded(let jpeg): jpeg.source
    case .smallPreview: .preview
    }
  }
}
