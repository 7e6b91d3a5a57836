import Glibc

/// Buffers that each end at a page that can't be accessed: a read or write beyond the end ends the process.
final class GuardedMemory {
  private var mappings: [(start: UnsafeMutableRawPointer, byteCount: Int)] = []

  /// Lends memory, which is freed when the body ends.
  static func use(_ body: (GuardedMemory) -> Void) {
    let memory = GuardedMemory()
    body(memory)
    for mapping in memory.mappings { munmap(mapping.start, mapping.byteCount) }
  }

  /// A copy of elements, followed by as many bytes that may be read too.
  func copy<Element>(_ elements: [Element], slackBytes: Int = 0) -> UnsafePointer<Element> {
    let copy = space(elements.count, of: Element.self, slackBytes: slackBytes)
    copy.initialize(from: elements, count: elements.count)
    return UnsafePointer(copy)
  }

  /// Space for elements. All bytes are 0xA5, those of the slack too.
  func space<Element>(_ count: Int, of type: Element.Type, slackBytes: Int = 0) -> UnsafeMutablePointer<Element> {
    let pageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))
    let neededBytes = count * MemoryLayout<Element>.stride + slackBytes
    let usableBytes = (neededBytes + pageBytes - 1) / pageBytes * pageBytes
    let byteCount = usableBytes + pageBytes
    guard
      let start = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      start != MAP_FAILED, mprotect(start + usableBytes, pageBytes, PROT_NONE) == 0
    else { fatalError("No memory for a test.") }
    mappings.append((start, byteCount))
    memset(start, 0xA5, usableBytes)
    return (start + (usableBytes - neededBytes)).bindMemory(to: Element.self, capacity: count)
  }
}
