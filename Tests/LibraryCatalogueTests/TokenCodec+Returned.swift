import LibraryCatalogue
import PhotoModel

extension TokenCodec {
  /// The cursor as the API gets it back from a client: written as text, and read again.
  func returned(_ cursor: PageCursor?) -> PageCursor? {
    cursor.flatMap { self.cursor(of: text(of: $0)) }
  }
}
