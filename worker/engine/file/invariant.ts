// Assertions of the engine, which are those of the whole package. A violated one ends the instance: its object is reset and
// recovered from the log.

export { assert, isDefect } from '../../../src/shared/contract/invariant.ts';
