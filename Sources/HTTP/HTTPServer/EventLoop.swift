import CPhotodSystem
import Dispatch
import HTTPCore

#if canImport(Glibc)
  import Glibc
#endif

/// A thread that owns an epoll descriptor and the connections registered with it.
///
///     run: work that other threads have enqueued -> wait for events -> dispatch them -> again
///
/// The thread belongs to a serial Dispatch queue, on which one long block runs. Dispatch sources would cost more: one
/// source for each connection costs two `epoll_ctl` calls and an `ioctl` for each event; one source for the epoll
/// descriptor costs a thread switch for each request that a worker answers. Descriptors are registered level-triggered.
///
/// `@unchecked Sendable` because every mutable field is accessed on `queue` only, which each entry point asserts.
final class EventLoop: @unchecked Sendable {
  /// Receives the events of a descriptor, on the loop's queue.
  protocol Registrant: AnyObject {
    func eventsArrived(_ events: UInt32)
    /// Called about once a second, with the loop's ``EventLoop/now``.
    func tick(now: UInt64)
  }

  private struct Slot {
    /// Counts the registrants of this slot, so that an event for an earlier registrant is recognised and ignored.
    var generation: UInt32 = 0
    var registrant: (any Registrant)?
  }

  private static let eventCapacity = 256
  private static let readBufferBytes = 65_536
  /// The time between two checks of the deadlines.
  private static let tickNanoseconds: UInt64 = 1_000_000_000
  /// Room for ``headSuffix(keepsAlive:version:)`` after the head of a prepared response.
  private static let maximumHeadSuffixBytes = 256
  private static let inboxIdentifier = UInt64.max
  private static let key = DispatchSpecificKey<ObjectIdentifier>()

  let queue: DispatchQueue
  private let clock: ServerClock
  private let epoll: Int32
  private let inbox = LoopInbox()
  private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: eventCapacity)
  private let accessLog: AccessLog?
  let counters = LoopCounters()

  // Guarded by `queue`.
  private var slots: [Slot] = []
  private var freeSlots: [UInt32] = []
  private var dateSecond: Int64 = -1
  private var headSuffixes: (open: [UInt8], closing: [UInt8], openHTTP10: [UInt8]) = ([], [], [])
  private var identifiers = RequestIdentifier.Generator()
  /// Owners and files of sent bytes, to be released after the current events.
  private var ownersToRelease: [any AnyObject & Sendable] = []
  var accessLogBatch = AccessLogBatch()
  private var isStopped = false
  private var nextTick: UInt64
  /// The monotonic time at the start of this batch of events, in nanoseconds.
  private(set) var now: UInt64
  /// The time of day at the start of this batch of events, in milliseconds since 1970.
  private(set) var wallMilliseconds: Int64

  /// The receive buffer that all connections of the loop share. Its content is valid until the next read.
  let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readBufferBytes, alignment: 16)
  /// The buffer in which heads of prepared responses are assembled.
  let headBuffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: PreparedResponse.maximumHeadBytes + maximumHeadSuffixBytes, alignment: 16)
  /// The buffer for the bytes of a ``PreparedRange``.
  let rangeBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: PreparedRange.maximumBytes, alignment: 4096)

  init(index: Int, clock: ServerClock, accessLog: AccessLog?) {
    self.clock = clock
    self.accessLog = accessLog
    now = clock.monotonic()
    wallMilliseconds = clock.wall()
    nextTick = now + Self.tickNanoseconds
    queue = DispatchQueue(label: "photod.loop.\(index)", qos: .userInitiated)
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    precondition(epoll >= 0, "no epoll descriptor")
    let watched = photod_epoll_add(
      epoll, inbox.descriptor, EPOLLIN.rawValue | EPOLLET.rawValue, Self.inboxIdentifier)
    precondition(watched == 0, "the inbox of a loop can't be watched")
    queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
  }

  /// Starts the thread, which runs until ``stop()``. Call it once.
  func start() { queue.async { [self] in processUntilStopped() } }

  /// Ends the thread after the work that is enqueued now. Work that is enqueued later never runs.
  func stop() { enqueue { [self] in isStopped = true } }

  /// Runs `work` on the loop's queue, after the events that are being dispatched; also if called on that queue.
  func enqueue(_ work: @escaping @Sendable () -> Void) { inbox.append(work) }

  /// Runs `work` now if called on the loop's queue, otherwise later.
  func run(_ work: @escaping @Sendable () -> Void) {
    if DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) { return work() }
    enqueue(work)
  }

  deinit {
    close(epoll)
    events.deallocate()
    for buffer in [readBuffer, headBuffer, rangeBuffer] { buffer.deallocate() }
  }

  // MARK: The thread

  private func processUntilStopped() {
    while true {
      for work in inbox.takeAll() { work() }
      endBatch()
      if isStopped { return }
      let count = waitForEvents()
      updateClocks()
      for i in 0..<count { dispatch(events[i].events, to: photod_epoll_identifier(events + i)) }
      endBatch()
      if now >= nextTick { tick() }
    }
  }

  /// Waits until the next tick for events. Returns at once if work is enqueued.
  private func waitForEvents() -> Int {
    let untilTick = min(nextTick > now ? nextTick - now : 0, Self.tickNanoseconds)
    let timeout = inbox.prepareToWait() ? Int32(untilTick / 1_000_000 + 1) : 0
    defer { inbox.waitEnded() }
    return max(0, Int(epoll_wait(epoll, events, Int32(Self.eventCapacity), timeout)))
  }

  private func dispatch(_ events: UInt32, to identifier: UInt64) {
    if identifier == Self.inboxIdentifier { return }
    // Look up an identifier and not a pointer: an earlier event of the batch may have closed this connection.
    let slot = slots[Int(identifier & 0xFFFF_FFFF)]
    guard slot.generation == UInt32(identifier >> 32) else { return }
    slot.registrant?.eventsArrived(events)
  }

  private func endBatch() {
    if !ownersToRelease.isEmpty { releaseOwners() }
    if accessLogBatch.byteCount > AccessLogBatch.batchBytes { flushAccessLog() }
  }

  /// Checks every deadline.
  func tick() {
    dispatchPrecondition(condition: .onQueue(queue))
    updateClocks()
    nextTick = now + Self.tickNanoseconds
    // By index, because a registrant may remove itself from `slots` during the loop.
    for i in slots.indices { slots[i].registrant?.tick(now: now) }
    flushAccessLog()
  }

  /// The current time, not the time at which the batch began.
  func monotonicNow() -> UInt64 { clock.monotonic() }

  private func updateClocks() {
    now = clock.monotonic()
    wallMilliseconds = clock.wall()
  }

  /// The end of a response head at the current time: `Date`, `Connection` where needed, and the empty line.
  func headSuffix(keepsAlive: Bool, version: HTTPVersion) -> [UInt8] {
    dispatchPrecondition(condition: .onQueue(queue))
    let second = wallMilliseconds / 1000
    if second != dateSecond {
      dateSecond = second
      let date = HTTPDate.string(secondsSince1970: second)
      headSuffixes = (
        ResponseWriter.headSuffix(date: date, keepsAlive: true, version: .http11),
        ResponseWriter.headSuffix(date: date, keepsAlive: false, version: .http11),
        ResponseWriter.headSuffix(date: date, keepsAlive: true, version: .http10)
      )
    }
    if !keepsAlive { return headSuffixes.closing }
    return version == .http10 ? headSuffixes.openHTTP10 : headSuffixes.open
  }

  func nextIdentifier() -> RequestIdentifier {
    dispatchPrecondition(condition: .onQueue(queue))
    return identifiers.next()
  }

  /// Whether finished requests are logged.
  var logsAccess: Bool { accessLog != nil }

  /// Submits the collected records to the access log.
  func flushAccessLog() {
    guard let accessLog, !accessLogBatch.isEmpty else { return }
    accessLog.submit(accessLogBatch)
    accessLogBatch = AccessLogBatch()
  }

  /// Releases the owners after the current events or work.
  func releaseLater(_ owners: [any AnyObject & Sendable]) {
    dispatchPrecondition(condition: .onQueue(queue))
    ownersToRelease += owners
  }

  private func releaseOwners() {
    // Take them out of the field first: a deinit may run arbitrary code and add more owners.
    var owners: [any AnyObject & Sendable] = []
    swap(&owners, &ownersToRelease)
  }

  // MARK: Registering

  /// Registers a descriptor. The caller still owns it and closes it after `remove`. Returns `nil` if the kernel refuses
  /// the registration.
  func add(_ registrant: any Registrant, descriptor: Int32, events: UInt32) -> UInt64? {
    let identifier = add(registrant)
    guard watch(identifier, descriptor: descriptor, events: events) else {
      removeRegistrant(identifier)
      return nil
    }
    return identifier
  }

  /// Adds a registrant, which receives only ticks until its descriptor is watched. Returns its identifier.
  func add(_ registrant: any Registrant) -> UInt64 {
    dispatchPrecondition(condition: .onQueue(queue))
    let index: UInt32
    if let free = freeSlots.popLast() {
      index = free
    } else {
      index = UInt32(slots.count)
      slots.append(Slot())
    }
    slots[Int(index)].registrant = registrant
    return UInt64(slots[Int(index)].generation) << 32 | UInt64(index)
  }

  /// Begins to watch a registrant's descriptor. Returns `false` with `errno` if the kernel refuses.
  func watch(_ identifier: UInt64, descriptor: Int32, events: UInt32) -> Bool {
    dispatchPrecondition(condition: .onQueue(queue))
    return photod_epoll_add(epoll, descriptor, events, identifier) == 0
  }

  /// Stops reporting events of a descriptor, also failures, which `modify` can't turn off.
  func unwatch(descriptor: Int32) {
    dispatchPrecondition(condition: .onQueue(queue))
    _ = photod_epoll_remove(epoll, descriptor)
  }

  func modify(_ identifier: UInt64, descriptor: Int32, events: UInt32) {
    dispatchPrecondition(condition: .onQueue(queue))
    _ = photod_epoll_modify(epoll, descriptor, events, identifier)
  }

  func remove(_ identifier: UInt64, descriptor: Int32) {
    unwatch(descriptor: descriptor)
    removeRegistrant(identifier)
  }

  private func removeRegistrant(_ identifier: UInt64) {
    let index = UInt32(truncatingIfNeeded: identifier)
    slots[Int(index)].generation &+= 1
    slots[Int(index)].registrant = nil
    freeSlots.append(index)
  }

  /// A snapshot of the registrants.
  var registrants: [any Registrant] {
    dispatchPrecondition(condition: .onQueue(queue))
    return slots.compactMap(\.registrant)
  }
}
