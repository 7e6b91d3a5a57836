import CPhotodSystem
import Dispatch
import HTTPCore

#if canImport(Glibc)
  import Glibc
#endif

/// A serial queue that owns an epoll descriptor and the connections registered with it.
///
/// One DispatchSource watches the epoll descriptor. One source per connection would cost two `epoll_ctl` calls and an
/// `ioctl` per event, in all a third more CPU per request. Descriptors are registered level-triggered.
///
/// `@unchecked Sendable` because every mutable field is accessed on `queue` only, which each entry point asserts.
final class EventLoop: @unchecked Sendable {
  /// Receives the events of a descriptor, on the loop's queue.
  protocol Registrant: AnyObject {
    func eventsArrived(_ events: UInt32)
    /// Called about once a second, with the monotonic time.
    func tick(now: UInt64)
  }

  private struct Slot {
    /// Counts the registrants of this slot, so that an event for an earlier registrant is recognised and ignored.
    var generation: UInt32 = 0
    var registrant: (any Registrant)?
  }

  private static let eventCapacity = 256
  private static let readBufferBytes = 65_536
  /// Event batches in one turn. After that other work on the queue has its turn.
  private static let maximumBatchesPerTurn = 16
  /// How long a turn waits for the next request of a client that was answered at once, in nanoseconds. Longer than a
  /// client on this machine or network takes, too short to be noticed by other work on the queue.
  private static let nextRequestWait = 200_000
  private static let key = DispatchSpecificKey<ObjectIdentifier>()

  let queue: DispatchQueue
  private let clock: ServerClock
  private let epoll: Int32
  private let source: any DispatchSourceRead
  private let timer: any DispatchSourceTimer
  private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: eventCapacity)
  private let accessLog: AccessLog?
  let counters = LoopCounters()

  // Guarded by `queue`.
  private var slots: [Slot] = []
  private var freeSlots: [UInt32] = []
  private var dateSecond: Int64 = -1
  private var headSuffixes: (open: [UInt8], closing: [UInt8], open10: [UInt8]) = ([], [], [])
  private var identifiers = RequestIdentifier.Generator()
  /// Owners and files of sent bytes, to be released after the current events.
  private var ownersToRelease: [any AnyObject & Sendable] = []
  var accessLogBatch = AccessLogBatch()
  /// The number of connections that wait for a handler to begin its response, which it does by other work on the queue.
  var awaitedResponses = 0
  /// Whether a request was answered on the queue in this turn.
  var hasAnsweredAtOnce = false
  /// The clocks at the start of this batch of events.
  private(set) var now: UInt64
  private(set) var wall: Int64

  /// The receive buffer that all connections of the loop share. Its content is valid until the next read.
  let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readBufferBytes, alignment: 16)
  /// The buffer in which heads of prepared responses are assembled.
  let headBuffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: PreparedResponse.maximumHeadBytes + 256, alignment: 16)

  /// The buffer for the bytes of a ``PreparedRange``.
  private(set) lazy var rangeBuffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: PreparedRange.maximumBytes, alignment: 4096)

  init(index: Int, clock: ServerClock, accessLog: AccessLog?) {
    self.clock = clock
    self.accessLog = accessLog
    now = clock.monotonic()
    wall = clock.wall()
    queue = DispatchQueue(label: "photod.loop.\(index)", qos: .userInitiated)
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    precondition(epoll >= 0, "no epoll descriptor")
    source = DispatchSource.makeReadSource(fileDescriptor: epoll, queue: queue)
    timer = DispatchSource.makeTimerSource(queue: queue)
    queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
  }

  func start() {
    source.setEventHandler { [unowned self] in dispatchEvents() }
    source.activate()
    timer.setEventHandler { [unowned self] in tick() }
    timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(200))
    timer.activate()
  }

  /// Runs `work` now if called on the loop's queue, otherwise asynchronously.
  func run(_ work: @escaping @Sendable () -> Void) {
    if DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) { return work() }
    queue.async { [self] in
      updateClocks()
      work()
    }
  }

  /// Checks every deadline.
  func tick() {
    dispatchPrecondition(condition: .onQueue(queue))
    updateClocks()
    // By index, because a registrant may remove itself from `slots` during the loop.
    for i in slots.indices { slots[i].registrant?.tick(now: now) }
    flushAccessLog()
  }

  /// The current time, not the time at which the batch began.
  func monotonicNow() -> UInt64 { clock.monotonic() }

  private func updateClocks() {
    now = clock.monotonic()
    wall = clock.wall()
  }

  /// The end of a response head at the current time: `Date`, `Connection` where needed, and the empty line.
  func headSuffix(keepsAlive: Bool, version: HTTPVersion) -> [UInt8] {
    dispatchPrecondition(condition: .onQueue(queue))
    let second = wall / 1000
    if second != dateSecond {
      dateSecond = second
      let date = HTTPDate.string(secondsSince1970: second)
      headSuffixes = (
        ResponseWriter.headSuffix(date: date, keepsAlive: true, version: .http11),
        ResponseWriter.headSuffix(date: date, keepsAlive: false, version: .http11),
        ResponseWriter.headSuffix(date: date, keepsAlive: true, version: .http10)
      )
    }
    return keepsAlive ? (version == .http10 ? headSuffixes.open10 : headSuffixes.open) : headSuffixes.closing
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

  /// Releases the owners after the current events are processed.
  func releaseLater(_ owners: [any AnyObject & Sendable]) {
    dispatchPrecondition(condition: .onQueue(queue))
    if ownersToRelease.isEmpty { queue.async { [self] in releaseOwners() } }
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
    dispatchPrecondition(condition: .onQueue(queue))
    let index: UInt32
    if let free = freeSlots.popLast() {
      index = free
    } else {
      index = UInt32(slots.count)
      slots.append(Slot())
    }
    let identifier = UInt64(slots[Int(index)].generation) << 32 | UInt64(index)
    guard photod_epoll_add(epoll, descriptor, events, identifier) == 0 else {
      freeSlots.append(index)
      return nil
    }
    slots[Int(index)].registrant = registrant
    return identifier
  }

  func modify(_ identifier: UInt64, descriptor: Int32, events: UInt32) {
    dispatchPrecondition(condition: .onQueue(queue))
    _ = photod_epoll_modify(epoll, descriptor, events, identifier)
  }

  func remove(_ identifier: UInt64, descriptor: Int32) {
    dispatchPrecondition(condition: .onQueue(queue))
    _ = photod_epoll_remove(epoll, descriptor)
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

  /// Dispatches ready events in batches and polls again for more, because returning through Dispatch costs as much as
  /// several requests. The source fires again while events remain.
  private func dispatchEvents() {
    hasAnsweredAtOnce = false
    for _ in 0..<Self.maximumBatchesPerTurn {
      let count = pollEvents()
      guard count > 0 else { break }
      updateClocks()
      for i in 0..<count {
        // Look up an identifier and not a pointer: an earlier event of the batch may have closed this connection.
        let identifier = photod_epoll_identifier(events + i)
        let slot = slots[Int(identifier & 0xFFFF_FFFF)]
        guard slot.generation == UInt32(identifier >> 32) else { continue }
        slot.registrant?.eventsArrived(events[i].events)
      }
      if !ownersToRelease.isEmpty { releaseOwners() }
      if accessLogBatch.byteCount > AccessLogBatch.batchBytes { flushAccessLog() }
    }
  }

  /// The number of events in the buffer. If there are none, waits for a moment where that delays nothing: a client that
  /// sends one request after another, each after the response, would otherwise cost a return through Dispatch for each.
  private func pollEvents() -> Int {
    let capacity = Int32(Self.eventCapacity)
    let count = Int(epoll_wait(epoll, events, capacity, 0))
    guard count == 0, hasAnsweredAtOnce, awaitedResponses == 0 else { return count }
    return Int(photod_epoll_wait(epoll, events, capacity, Self.nextRequestWait))
  }
}
