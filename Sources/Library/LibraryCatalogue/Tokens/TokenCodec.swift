import Foundation
import PhotoModel

/// Converts change tokens and cursors to the text that clients see, and back. Everywhere else in the daemon they are
/// values; the API converts them where it reads a request or writes a response.
///
/// The text of change tokens and page cursors is encrypted under the catalogue's secret. Tokens reveal neither the
/// number of changes between them nor the existence of a change that the client may not see. Cursors contain row
/// numbers and positions in folders, from which a client could estimate the number of objects that it may not see.
/// Equal values have equal texts, so responses keep their entity tags.
package struct TokenCodec: Sendable {
  private let changeTokens: ChangeTokenCipher
  private let cursors: CursorCipher

  /// - Parameter secret: the catalogue's `contentKey`.
  init(secret: Data) {
    changeTokens = ChangeTokenCipher(secret: secret)
    cursors = CursorCipher(secret: secret)
  }

  /// The text of a token: eleven letters.
  package func text(of token: ChangeToken) -> String { changeTokens.text(of: token) }

  /// The token of a text. `nil` if the text has the wrong format or decrypts to a number that is out of range. The text
  /// of another catalogue may decrypt to a token that was never issued, which is most likely later than every state.
  package func changeToken(of text: String) -> ChangeToken? { changeTokens.token(of: text) }

  package func text(of cursor: PageCursor) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return cursors.seal((try? encoder.encode(cursor.fields)) ?? Data())
  }

  /// The cursor of a text. `nil` if the text was not encrypted with the key of this catalogue.
  package func cursor(of text: String) -> PageCursor? {
    guard let opened = cursors.open(text) else { return nil }
    return (try? JSONDecoder().decode([PageCursor.Field].self, from: opened)).map { PageCursor($0) }
  }

  /// `DATE.RECORD`, both as numbers; not encrypted.
  package func text(of cursor: TrashCursor) -> String { "\(cursor.deletedDate.milliseconds).\(cursor.record)" }

  /// The cursor of a text. `nil` if the text has the wrong format.
  package func trashCursor(of text: String) -> TrashCursor? {
    let parts = text.split(separator: ".").compactMap { Int64($0) }
    guard parts.count == 2 else { return nil }
    return TrashCursor(deletedDate: Timestamp(milliseconds: parts[0]), record: parts[1])
  }
}
