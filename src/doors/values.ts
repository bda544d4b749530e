// Exports the names that packages need to write values as bytes, in the format of V8, and to read them.

export { deserialize, deserializeFromPeer } from '../shared/values/decode.ts';
export { serialize, serializeWith } from '../shared/values/encode.ts';
export { refuseToClone } from '../shared/values/object-kind.ts';
export { passedValue, refusalOf } from '../shared/values/passed-value.ts';
export { encodeValue } from '../shared/values/value.ts';
