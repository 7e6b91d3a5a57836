import CPhotodSystem
import Dispatch
import HTTPCore

#if canImport(Glibc)
  import Glibc
#endif

/// A serial queue that owns an epoll descriptor and the connections registered with it.
///
/// One DispatchSource watches the epoll descriptor, not each connection: a source a connection costs two `epoll_ctl`
/// and an `ioctl` an event, a third more CPU a request in all. Descriptors are registered level-triggered.
///
/// `@unchecked Sendable` because every mutable field is touched on `queue` only, which each entry asserts.
final class EventLoop: @unchecked Sendable {
  /// What a descriptor's events are given to, on the loop's queue.
  protocol Registrant: AnyObject {
    func eventsArrived(_ events: UInt32)
    /// Called about once a second, with the monotonic time.
    func tick(now: UInt64)
  }

  private struct Slot {
    /// Which of the registrants that this slot has had: an event of an earlier one is nobody's.
    var generation: UInt32 = 0
    var registrant: (any Registrant)?
  }

  private static let eventCapacity = 256
  private static let scratchBytes = 65_536
  /// Batches of events in one turn; then whatever else waits on the queue has its turn.
  private static let batchesATurn = 16
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
  private var tails: (open: [UInt8], closing: [UInt8], open10: [UInt8]) = ([], [], [])
  private var identifiers = RequestIdentifier.Source()
  /// What is held for no reason any more.
  private var spentOwners: [any MemoryOwner] = []
  var records = AccessRecords()
  /// The clocks as this batch of events began.
  private(set) var now: UInt64
  private(set) var wall: Int64

  /// Where every connection of the loop reads into; its content is good until the next read.
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchBytes, alignment: 16)
  /// Where heads are put together that are sent at once.
  let headScratch = UnsafeMutableRawBufferPointer.allocate(
    byteCount: PreparedAnswer.maximumHeadBytes + 256, alignment: 16)

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
    source.setEventHandler { [unowned self] in drain() }
    source.activate()
    timer.setEventHandler { [unowned self] in tick() }
    timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(200))
    timer.activate()
  }

  /// Now if on the loop's queue, else in its turn.
  func run(_ work: @escaping @Sendable () -> Void) {
    if DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) { return work() }
    queue.async { [self] in
      updateClocks()
      work()
    }
  }

  /// Looks at every deadline.
  func tick() {
    dispatchPrecondition(condition: .onQueue(queue))
    updateClocks()
    // By number: a registrant that goes makes room for nobody while this runs.
    for i in slots.indices { slots[i].registrant?.tick(now: now) }
    flushRecords()
  }

  /// The clock as it is now, not as the batch began.
  func monotonicNow() -> UInt64 { clock.monotonic() }

  private func updateClocks() {
    now = clock.monotonic()
    wall = clock.wall()
  }

  /// What ends an answer's head at this moment: `Date`, `Connection` where it says something, the empty line.
  func headTail(keepsAlive: Bool, version: HTTPVersion) -> [UInt8] {
    dispatchPrecondition(condition: .onQueue(queue))
    let second = wall / 1000
    if second != dateSecond {
      dateSecond = second
      let date = HTTPDate.string(secondsSince1970: second)
      tails = (
        ResponseWriter.tail(date: date, keepsAlive: true, version: .http11),
        ResponseWriter.tail(date: date, keepsAlive: false, version: .http11),
        ResponseWriter.tail(date: date, keepsAlive: true, version: .http10)
      )
    }
    return keepsAlive ? (version == .http10 ? tails.open10 : tails.open) : tails.closing
  }

  func nextIdentifier() -> RequestIdentifier {
    dispatchPrecondition(condition: .onQueue(queue))
    return identifiers.next()
  }

  /// Whether finished requests are noted.
  var keepsRecords: Bool { accessLog != nil }

  /// Hands finished requests to the access log, some at a time.
  func flushRecords() {
    guard let accessLog, !records.isEmpty else { return }
    accessLog.submit(records)
    records = AccessRecords()
  }

  /// Lets go of these when the events at hand are dealt with.
  func letGo(_ owners: [any MemoryOwner]) {
    dispatchPrecondition(condition: .onQueue(queue))
    if spentOwners.isEmpty { queue.async { [self] in letGoOfSpentOwners() } }
    spentOwners += owners
  }

  private func letGoOfSpentOwners() {
    // Out of the field first: one may, in its end, come to where others are added.
    var owners: [any MemoryOwner] = []
    swap(&owners, &spentOwners)
  }

  // MARK: Registering

  /// Registers a descriptor, which stays its owner's to close after `remove`. `nil`: the kernel has no room.
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

  /// A snapshot of what is registered.
  var all: [any Registrant] {
    dispatchPrecondition(condition: .onQueue(queue))
    return slots.compactMap(\.registrant)
  }

  /// Hands out what is ready, a batch at a time, for as long as more becomes ready meanwhile: coming back by way of
  /// Dispatch costs as much as several requests. The source fires again while anything is left.
  private func drain() {
    for _ in 0..<Self.batchesATurn {
      let count = Int(epoll_wait(epoll, events, Int32(Self.eventCapacity), 0))
      guard count > 0 else { break }
      updateClocks()
      for i in 0..<count {
        // An identifier, not a pointer: an earlier event of the batch may have closed this connection.
        let identifier = photod_epoll_identifier(events + i)
        let slot = slots[Int(identifier & 0xFFFF_FFFF)]
        guard slot.generation == UInt32(identifier >> 32) else { continue }
        slot.registrant?.eventsArrived(events[i].events)
      }
      if !spentOwners.isEmpty { letGoOfSpentOwners() }
      if records.byteCount > AccessRecords.batchBytes { flushRecords() }
    }
  }
}
