// A process that stores and looks up entries endlessly, to be killed:
// `disk-cache-writer FOLDER CAPACITY FIRST [STEP TIMES]`.
//
// After every twenty entries it prints the number of the last one, once all are on disk. With STEP, it kills itself the
// TIMES-th time that it reaches that step.

import DiskCache
import Logging
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

@main
struct DiskCacheWriter {
  static func main() { Storing(CommandLine.arguments).run() }
}

struct Storing {
  let store: DiskStore
  let first: Int

  nonisolated init(_ arguments: [String]) {
    var environment = DiskEnvironment.system
    environment.freeBytes = { _ in .max }
    if arguments.count > 5, let last = DiskStep(rawValue: arguments[4]), let times = Int(arguments[5]) {
      let left = Mutex(times)
      environment.injectedError = { step in
        let isNow =
          step == last
          && left.withLock {
            $0 -= 1
            return $0 == 0
          }
        if isNow { kill(getpid(), SIGKILL) }
        return 0
      }
    }
    first = Int(arguments[3]) ?? 0
    store = DiskStore(
      folder: arguments[1], capacityBytes: Int64(arguments[2]) ?? 0, epochs: DiskStore.Epochs(frame: 1, derivative: 1),
      logger: Logger(label: "disk-cache-writer") { _ in SwiftLogNoOpLogHandler() }, environment: environment)
  }

  nonisolated func run() {
    for number in first... {
      let key = DiskStore.Key(digestOf: Array("\(number)".utf8))
      store.store(Self.bytes(number), info: [1], for: key, number % 3 == 0 ? .derivative : .frame)
      _ = store.entry(for: DiskStore.Key(digestOf: Array("\(number - 7)".utf8)), .frame)
      if number % 20 == 19 {
        store.waitUntilIdle()
        print(number)
        fflush(nil)
      }
    }
  }

  /// The same as in the tests.
  nonisolated static func bytes(_ number: Int) -> [UInt8] {
    let count = 500 + number * 7919 % 20_000
    // They repeat after 256. Joining blocks is fast without optimization too.
    var bytes = (0..<256).map { UInt8(truncatingIfNeeded: number &+ $0 &* 31) }
    while bytes.count < count { bytes += bytes }
    return Array(bytes.prefix(count))
  }
}
