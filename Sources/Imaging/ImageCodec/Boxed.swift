/// Keeps a large value in an object of its own. The structures that contain it stay small: copying them copies a
/// reference, and the code that does is short. A structure may even contain one of its own kind. An assignment makes a
/// new object.
@propertyWrapper
package struct Boxed<Value: Sendable & Hashable>: Sendable, Hashable {
  private final class Box: Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
  }

  private var box: Box

  package init(wrappedValue: Value) { box = Box(wrappedValue) }

  package var wrappedValue: Value {
    get { box.value }
    set { box = Box(newValue) }
  }

  package static func == (a: Boxed, b: Boxed) -> Bool { a.box === b.box || a.box.value == b.box.value }

  package func hash(into hasher: inout Hasher) { hasher.combine(box.value) }
}
