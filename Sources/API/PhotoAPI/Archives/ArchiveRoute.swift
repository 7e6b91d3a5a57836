import HTTPCore
import ImageService
import PhotoModel
import Synchronization
import ZipFormat

/// `GET /v1/archive`: the files of assets as one ZIP archive.
///
///     one of assets, collection, fetchResult                          400, 403 without the scope
///     the listing from the catalogue                                  404
///     its plan: kept from an earlier request, or made by opening each file
///     conditions, range -> ArchiveBody                                304, 412, 416
struct ArchiveRoute: Sendable {
  /// Maximum number of identifiers in a query. A fetch result can have more assets.
  static let maximumAssets = 500

  let queries: QueryService
  let planner: ArchivePlanner
  let plans: ArchivePlans
  let memo = ChecksumCache()
  let slots: ArchiveSlots
  /// Opens the files of new plans: of a large archive, for minutes. Fetches must not wait for that.
  let planning: WorkQueue
  /// Calls the bodies, and waits for the disk.
  let files: WorkQueue
  let maximumRanges: Int

  init(
    queries: QueryService, planner: ArchivePlanner, planning: WorkQueue, files: WorkQueue, maximumRanges: Int
  ) {
    self.queries = queries
    self.planner = planner
    self.planning = planning
    self.files = files
    self.maximumRanges = maximumRanges
    plans = ArchivePlans(planner.limits)
    slots = ArchiveSlots(planner.limits)
  }

  /// Rejects a malformed query at once; the listing is made on the queue for long fetches.
  func send(_ exchange: RoutedRequest) throws(Problem) {
    let principal = try exchange.principal
    var query = try QueryReader(exchange.target)
    let resources = try query.word("resources", default: ArchivePlanner.Resources.primary)
    let source = try Self.source(&query)
    let includesLocation = try query.flag("includeLocation")
    let filename = query.text("filename") ?? "photos.zip"
    try query.finish()
    let name = try Self.name(filename)
    try planner.files.checkScopes(includesLocation: includesLocation, principal)
    guard let slot = slots.take() else { throw Problem.overloaded }
    let end = queries.deadline
    try exchange.run(on: queries.fetches) { () throws(Problem) in
      let (listing, key) = try planner.listing(
        source, resources, includesLocation: includesLocation, until: end, principal)
      let head = exchange.request.head
      // The first bytes are read by the sending thread, which must not keep other fetches or plans waiting.
      @Sendable func start(_ plan: ArchivePlan) throws(Problem) {
        try exchange.run(on: files) { () throws(Problem) in try send(plan, name: name, slot, head, exchange.reply) }
      }
      if let plan = plans.plan(key) { return try start(plan) }
      try exchange.run(on: planning) { () throws(Problem) in
        guard let plan = try makePlan(listing, key, includesLocation: includesLocation, exchange.reply) else { return }
        try start(plan)
      }
    }
  }

  /// The name that a browser saves the archive under.
  private static func name(_ text: String) throws(Problem) -> String {
    guard !text.isEmpty, text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      throw QueryReader.invalid("filename", "must be a name without control characters")
    }
    let name = ZipNames.safe(text)
    return name.lowercased().hasSuffix(".zip") ? name : name + ".zip"
  }

  private static func source(_ query: inout QueryReader) throws(Problem) -> ArchivePlanner.Source {
    var sources: [ArchivePlanner.Source] = []
    if let text = query.text("assets") {
      let names = text.split(separator: ",", omittingEmptySubsequences: false)
      guard names.count <= maximumAssets else {
        throw QueryReader.invalid("assets", "must have at most \(maximumAssets) identifiers; use a fetch result")
      }
      var identifiers: [LocalIdentifier] = []
      for name in names { identifiers.append(try LocalIdentifier(parameter: String(name), "assets")) }
      sources.append(.assets(identifiers))
    }
    if let identifier = try query.identifier("collection") { sources.append(.collection(identifier)) }
    if let id = query.text("fetchResult") { sources.append(.fetchResult(id)) }
    guard sources.count == 1 else {
      throw QueryReader.invalid("assets", "or collection or fetchResult must be given, and only one of them")
    }
    return sources[0]
  }

  /// `nil` if the client has gone. Throws 503 after the time limit.
  private func makePlan(
    _ listing: ArchiveListing, _ key: String, includesLocation: Bool, _ reply: Reply
  ) throws(Problem) -> ArchivePlan? {
    let isClosed = ClosedFlag()
    reply.onClose { isClosed.set() }
    let plan = try planner.plan(listing, key: key, includesLocation: includesLocation) { isClosed.isSet }
    if let plan { plans.keep(plan) }
    return plan
  }

  private func send(
    _ plan: ArchivePlan, name: String, _ slot: ArchiveSlots.Slot, _ head: RequestHead, _ reply: Reply
  ) throws(Problem) {
    let validators = Validators(entityTag: plan.entityTag, lastModified: nil)
    var fields = [("ETag", plan.entityTag), ("Cache-Control", QueryService.cacheControl)]
    switch Preconditions.evaluate(head, validators) {
    case .proceed: break
    case .notModified: return reply.send(HTTPResponse(.notModified, fields))
    case .failed: throw .preconditionFailed
    }
    fields += [
      ("Content-Type", "application/zip"),
      ("Content-Disposition", ContentDisposition.value(.attachment, name: name)),
      ("X-Content-Type-Options", "nosniff"),
    ]
    if maximumRanges > 0 { fields.append(("Accept-Ranges", "bytes")) }
    let size = plan.layout.length
    var status: HTTPStatus = 200
    var range = 0..<size
    // A request with several ranges gets the whole archive.
    switch ByteRanges(head, size: Int(size), validators: validators, limit: min(1, maximumRanges)) {
    case .whole: break
    case .unsatisfiable:
      var problem = Problem.rangeNotSatisfiable(size: Int(size))
      problem.fields["Content-Range"] = "bytes */\(size)"
      throw problem
    case .parts(let parts):
      status = 206
      range = Int64(parts[0].lowerBound)..<Int64(parts[0].upperBound)
      fields.append(("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"))
    }
    let body = ArchiveBody(plan, range, files: planner.files, memo: memo, plans: plans, slot: slot)
    do throws(BodySourceError) {
      try reply.send(ResponseHead(status, fields), body: body) { [files] in files.submit($0) }
    } catch {
      throw Problem(error)
    }
  }
}

/// Set when a client has gone.
private final class ClosedFlag: Sendable {
  private let value = Atomic<Bool>(false)

  var isSet: Bool { value.load(ordering: .relaxed) }
  func set() { value.store(true, ordering: .relaxed) }
}
