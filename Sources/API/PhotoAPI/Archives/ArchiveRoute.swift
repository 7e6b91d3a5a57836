import HTTPCore
import ImageService
import Logging
import PhotoModel
import Synchronization
import ZipFormat

/// `GET` and `POST /v1/archive`: the files of assets as one ZIP archive.
///
///     ArchiveRequest: one of assets, collection, fetchResult          400, 403 without the scope
///     the listing from the catalogue                                  404
///     its plan: kept from an earlier request, if its files are unchanged, or made by opening each file
///     conditions, range -> ArchiveBody                                304, 412, 416
struct ArchiveRoute: Sendable {
  let queries: QueryService
  let planner: ArchivePlanner
  let plans: ArchivePlans
  let checksums = ChecksumCache()
  let archivePermits: PermitPool
  /// Opens the files of new plans: of a large archive, for minutes. Fetches must not wait for that.
  let planning: WorkQueue
  /// Runs the steps of the bodies, which wait for the disk.
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
    archivePermits = PermitPool(capacity: planner.limits.concurrent)
  }

  /// Reads the body of a POST on the lookup queue: a long one takes time.
  func sendRequestedByBody(_ routed: RoutedRequest) throws(Problem) {
    try routed.run(on: queries.lookups) { () throws(Problem) in
      try send(ArchiveRequest(bodyOf: routed.request), routed)
    }
  }

  /// A request whose assets are known.
  private struct ListedRequest: Sendable {
    let request: ArchiveRequest
    let listing: ArchiveListing
    /// Names the plan in ``ArchivePlans``.
    let key: String
    let permit: PermitPool.Permit
    let routed: RoutedRequest
  }

  /// The assets are fetched on the queue for long fetches. The listing of their files is made on the queue of the
  /// bodies: a hundred thousand files take seconds, for which other fetches must not wait.
  func send(_ wanted: ArchiveRequest, _ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    try planner.files.checkScopes(includesLocation: wanted.includesLocation, principal)
    guard let permit = archivePermits.acquire() else { throw Problem.overloaded }
    let end = queries.deadline
    try routed.run(on: queries.fetches) { () throws(Problem) in
      let members = try planner.members(of: wanted.source, until: end, principal)
      try routed.run(on: files) { () throws(Problem) in
        let isClosed = ClosedFlag(routed.reply)
        let listing = try planner.listing(
          members, wanted.resources, includesLocation: wanted.includesLocation, isCancelled: { isClosed.isSet },
          principal)
        guard let (listing, key) = listing else { return }
        let listed = ListedRequest(request: wanted, listing: listing, key: key, permit: permit, routed: routed)
        guard let kept = plans.plan(key) else { return try plan(listed) }
        try start(kept, isKept: true, listed)
      }
    }
  }

  /// Whether a request continues a download. Then each file is checked only when it is sent: the mode or the name of a
  /// file that the client already has may have changed.
  private func continues(_ plan: ArchivePlan, _ head: RequestHead) -> Bool {
    guard case .parts(let parts) = ranges(of: plan, head) else { return false }
    return parts[0].lowerBound > 0
  }

  /// The requested ranges. A request with several ranges gets the whole archive.
  private func ranges(of plan: ArchivePlan, _ head: RequestHead) -> ByteRanges {
    ByteRanges(
      head, size: Int(plan.layout.length), validators: Validators(entityTag: plan.entityTag, lastModified: nil),
      limit: min(1, maximumRanges))
  }

  /// Makes a plan, and sends the archive. Sends nothing if the client has gone. Throws 503 after the time limit.
  private func plan(_ listed: ListedRequest) throws(Problem) {
    try listed.routed.run(on: planning) { () throws(Problem) in
      let isClosed = ClosedFlag(listed.routed.reply)
      let made = try planner.plan(
        listed.listing, key: listed.key, includesLocation: listed.request.includesLocation,
        isCancelled: { isClosed.isSet })
      guard let made else { return }
      plans.keep(made)
      try start(made, isKept: false, listed)
    }
  }

  /// Sends an archive, by a new plan if files have changed since a kept one was made. The first bytes are read by the
  /// sending thread, which must not keep other fetches or plans waiting.
  private func start(_ plan: ArchivePlan, isKept: Bool, _ listed: ListedRequest) throws(Problem) {
    try listed.routed.run(on: files) { () throws(Problem) in
      if isKept, !continues(plan, listed.routed.request.head) {
        let isClosed = ClosedFlag(listed.routed.reply)
        guard try planner.isCurrent(plan, isCancelled: { isClosed.isSet }) else { return try self.plan(listed) }
      }
      try send(plan, isKept: isKept, listed)
    }
  }

  private func send(_ plan: ArchivePlan, isKept: Bool, _ listed: ListedRequest) throws(Problem) {
    let (head, reply) = (listed.routed.request.head, listed.routed.reply)
    // Conditions and ranges are about what a GET selects (RFC 9110 §13.2.1, §14.2). A POST gets all of it, once.
    let isResumable = head.method != .post
    let validators = Validators(entityTag: plan.entityTag, lastModified: nil)
    var fields =
      isResumable
      ? [("ETag", plan.entityTag), ("Cache-Control", QueryService.cacheControl)] : [("Cache-Control", "no-store")]
    if isResumable, try reply.sendNotModified(to: head, validators, fields) { return }
    fields += [
      ("Content-Type", "application/zip"),
      ("Content-Disposition", ContentDisposition.value(.attachment, name: listed.request.name)),
      ("X-Content-Type-Options", "nosniff"),
    ]
    if isResumable, maximumRanges > 0 { fields.append(("Accept-Ranges", "bytes")) }
    let size = plan.layout.length
    var status: HTTPStatus = 200
    var range = 0..<size
    switch ranges(of: plan, head) {
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
    let body = ArchiveBody(plan, range, files: planner.files, checksums: checksums, plans: plans, permit: listed.permit)
    do throws(BodySourceError) {
      try reply.send(ResponseHead(status, fields), body: body, logger: queries.logger) { [files] in files.submit($0) }
    } catch {
      // The body has dropped the plan, and nothing is sent yet, so a new plan can be made.
      if isKept, error == .fileChanged { return try self.plan(listed) }
      throw reply.problem(error, "reading an archive failed", queries.logger)
    }
  }
}

/// Set when a client has gone.
private final class ClosedFlag: Sendable {
  private let value = Atomic<Bool>(false)

  init(_ reply: Reply) {
    reply.onClose { [self] in value.store(true, ordering: .relaxed) }
  }

  var isSet: Bool { value.load(ordering: .relaxed) }
}
