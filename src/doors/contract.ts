// Exports the names of `src/shared/contract` that packages may import and no other door has: checks of arguments, and
// the types of followed objects, drafts, D1 and HTML.

export {
  checkArray,
  checkBoolean,
  checkBytes,
  checkFields,
  checkInteger,
  checkNumberOf,
  checkString,
  convertKey,
  eachOf,
  type Fields,
  malformed,
} from '../shared/contract/arguments.ts';
export { compareMigrations, statementsIn } from '../shared/contract/d1-migrations.ts';
export { deploymentIn } from '../shared/contract/deployment.ts';
export type {
  DraftControls,
  DraftOptions,
  DraftState,
  SaveText,
  TextDraft,
} from '../shared/contract/draft.ts';
export { BINDING, type EnvBinding } from '../shared/contract/env-binding.ts';
export { fileBytes } from '../shared/contract/file-bytes.ts';
export {
  FOLLOWABLE,
  type FollowedStatus,
  type FollowRefusal,
  type FollowState,
  UNKNOWN_FOLLOW_STATE,
} from '../shared/contract/followed.ts';
export type {
  Comment,
  ContentOptions,
  Doctype,
  DocumentContentHandlers,
  DocumentEnd,
  Element,
  ElementContentHandlers,
  EndTag,
  HTMLRewriter,
  HtmlContent,
  Text,
} from '../shared/contract/html-rewriter.ts';
export { withoutLastComments } from '../shared/contract/last-comments.ts';
export { listParts } from '../shared/contract/list-parts.ts';
export type { ConsoleEntry, ConsoleLevel, SourceFiles } from '../shared/contract/source.ts';
export { notedLength, noteLength } from '../shared/contract/stream-length.ts';
export { encodeText, utf8Bytes } from '../shared/contract/utf8.ts';
export { folderLeftBehind, noAddress, ownWasmUrl } from '../shared/contract/wasm-url.ts';
