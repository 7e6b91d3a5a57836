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

  private static let eventCapacity = 256
  private static let scratchBytes = 65_536

  let queue: DispatchQueue
  private let epoll: Int32
  private let source: any DispatchSourceRead
  private let timer: any DispatchSourceTimer
  private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: eventCapacity)

  // Guarded by `queue`.
  private var registrants: [UInt64: any Registrant] = [:]
  private var nextIdentifier: UInt64 = 1
  private var dateSecond: Int64 = -1
  private var dateText = ""

  /// Where every connection of the loop reads into; its content is good until the next read.
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchBytes, alignment: 16)

  init(index: Int) {
    queue = DispatchQueue(label: "photod.loop.\(index)", qos: .userInitiated)
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    precondition(epoll >= 0, "no epoll descriptor")
    source = DispatchSource.makeReadSource(fileDescriptor: epoll, queue: queue)
    timer = DispatchSource.makeTimerSource(queue: queue)
  }

  func start() {
    source.setEventHandler { [unowned self] in drain() }
    source.activate()
    timer.setEventHandler { [unowned self] in
      let now = Self.now()
      for registrant in Array(registrants.values) { registrant.tick(now: now) }
    }
    timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(200))
    timer.activate()
  }

  /// Nanoseconds of the monotonic clock.
  static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// The HTTP date of this second.
  var date: String {
    dispatchPrecondition(condition: .onQueue(queue))
    let second = Int64(time(nil))
    if second != dateSecond {
      dateSecond = second
      dateText = HTTPDate.string(secondsSince1970: second)
    }
    return dateText
  }

  /// Registers a descriptor, which stays its owner's to close after `remove`. `nil`: the kernel has no room.
  func add(_ registrant: any Registrant, descriptor: Int32, events: UInt32) -> UInt64? {
    dispatchPrecondition(condition: .onQueue(queue))
    let identifier = nextIdentifier
    guard photod_epoll_add(epoll, descriptor, events, identifier) == 0 else { return nil }
    nextIdentifier += 1
    registrants[identifier] = registrant
    return identifier
  }

  func modify(_ identifier: UInt64, descriptor: Int32, events: UInt32) {
    dispatchPrecondition(condition: .onQueue(queue))
    _ = photod_epoll_modify(epoll, descriptor, events, identifier)
  }

  func remove(_ identifier: UInt64, descriptor: Int32) {
    dispatchPrecondition(condition: .onQueue(queue))
    _ = photod_epoll_remove(epoll, descriptor)
    registrants[identifier] = nil
  }

  /// A snapshot of what is registered.
  var all: [any Registrant] {
    dispatchPrecondition(condition: .onQueue(queue))
    return Array(registrants.values)
  }

  /// Hands out what is ready. The source fires again while anything is left, so one batch is enough.
  private func drain() {
    let count = epoll_wait(epoll, events, Int32(Self.eventCapacity), 0)
    guard count > 0 else { return }
    for i in 0..<Int(count) {
      // An identifier, not a pointer: an earlier event of the batch may have closed this connection.
      registrants[photod_epoll_identifier(events + i)]?.eventsArrived(events[i].events)
    }
  }
}
