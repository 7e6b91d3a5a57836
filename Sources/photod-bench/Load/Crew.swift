import Foundation
import Synchronization

/// Threads that work at the same time, each of its own.
struct Crew<Finding: Sendable>: ~Copyable {
  private let group = DispatchGroup()
  private let findings: Findings

  /// Guarded by its mutex.
  private final class Findings: Sendable {
    let list = Mutex<[Finding]>([])
  }

  /// Starts them.
  init(_ count: Int, _ work: @escaping @Sendable (Int) -> Finding) {
    let findings = Findings()
    self.findings = findings
    for i in 0..<count {
      group.enter()
      Thread.detachNewThread { [group] in
        let finding = work(i)
        findings.list.withLock { $0.append(finding) }
        group.leave()
      }
    }
  }

  /// What they found, in the order in which they were done.
  consuming func wait() -> [Finding] {
    group.wait()
    return findings.list.withLock { $0 }
  }
}
