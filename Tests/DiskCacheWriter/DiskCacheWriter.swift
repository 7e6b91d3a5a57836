// A process that stores and looks up without end, to be killed: `disk-cache-writer FOLDER CAPACITY FIRST [STEP TIMES]`.
//
// After each twenty entries it prints the number of the last, once they are all on disk. With a step it kills itself when
// that step comes for the given time.

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

  /// The same as the tests'.
  nonisolated static func bytes(_ number: Int) -> [UInt8] {
    (0..<(500 + number * 7919 % 20_000)).map { UInt8(truncatingIfNeeded: number &+ $0 &* 31) }
  }
}
