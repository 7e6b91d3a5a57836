import HTTPCore
import ImageService
import PhotoModel
import Synchronization
import ZipFormat

/// `GET` and `POST /v1/archive`: the files of assets as one ZIP archive.
///
///     ArchiveRequest: one of assets, collection, fetchResult          400, 403 without the scope
///     the listing from the catalogue                                  404
///     its plan: kept from an earlier request, or made by opening each file
///     conditions, range -> ArchiveBody                                304, 412, 416
struct ArchiveRoute: Sendable {
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

  /// Reads the body of a POST on the lookup queue: a long one takes time.
  func sendRequestedByBody(_ exchange: RoutedRequest) throws(Problem) {
    try exchange.run(on: queries.lookups) { () throws(Problem) in
      try send(ArchiveRequest(bodyOf: exchange.request), exchange)
    }
  }

  /// The listing is made on the queue for long fetches.
  func send(_ wanted: ArchiveRequest, _ exchange: RoutedRequest) throws(Problem) {
    let principal = try exchange.principal
    let includesLocation = wanted.includesLocation
    try planner.files.checkScopes(includesLocation: includesLocation, principal)
    guard let slot = slots.take() else { throw Problem.overloaded }
    let end = queries.deadline
    try exchange.run(on: queries.fetches) { () throws(Problem) in
      let (listing, key) = try planner.listing(
        wanted.source, wanted.resources, includesLocation: includesLocation, until: end, principal)
      let head = exchange.request.head
      // The first bytes are read by the sending thread, which must not keep other fetches or plans waiting.
      @Sendable func start(_ plan: ArchivePlan) throws(Problem) {
        try exchange.run(on: files) { () throws(Problem) in
          try send(plan, name: wanted.name, slot, head, exchange.reply)
        }
      }
      if let plan = plans.plan(key) { return try start(plan) }
      try exchange.run(on: planning) { () throws(Problem) in
        guard let plan = try makePlan(listing, key, includesLocation: includesLocation, exchange.reply) else { return }
        try start(plan)
      }
    }
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
    // Conditions and ranges are about what a GET selects (RFC 9110 §13.2.1, §14.2). A POST gets all of it, once.
    let isResumable = head.method != .post
    let validators = Validators(entityTag: plan.entityTag, lastModified: nil)
    var fields =
      isResumable
      ? [("ETag", plan.entityTag), ("Cache-Control", QueryService.cacheControl)] : [("Cache-Control", "no-store")]
    if isResumable {
      switch Preconditions.evaluate(head, validators) {
      case .proceed: break
      case .notModified: return reply.send(HTTPResponse(.notModified, fields))
      case .failed: throw .preconditionFailed
      }
    }
    fields += [
      ("Content-Type", "application/zip"),
      ("Content-Disposition", ContentDisposition.value(.attachment, name: name)),
      ("X-Content-Type-Options", "nosniff"),
    ]
    if isResumable, maximumRanges > 0 { fields.append(("Accept-Ranges", "bytes")) }
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
