import HTTPCore
import ImageService

extension ImagePriority {
  /// The priority from the urgency in the `Priority` field (RFC 9218 §4.1); 3 if the field has none. Browsers send a
  /// higher urgency for images in view than for others.
  init(_ head: RequestHead) {
    self = .normal
    guard let field = head.value(of: .priority) else { return }
    for member in HTTPGrammar.elements(of: field) where member.hasPrefix("u=") {
      guard let urgency = Int(member.dropFirst(2)), (0...7).contains(urgency) else { continue }
      self = urgency < 3 ? .high : urgency == 3 ? .normal : .low
    }
  }
}
