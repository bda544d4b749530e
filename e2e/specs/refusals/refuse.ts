// Refuses the call that the address of this page or worker names, as a browser does in a private window, a frame of another
// site or under a policy.

export {};

const parameters = new URLSearchParams(location.search);
const refusedCall = parameters.get('call');

interface Owner {
  [member: string]: Owner;
}

if (refusedCall !== null) refuse(refusedCall, parameters.get('how'));

function refuse(call: string, how: string | null): void {
  const path = call.split('.');
  const member = path.pop()!;
  let owner: Owner | undefined = globalThis as unknown as Owner;
  for (const part of path) owner = owner?.[part];
  if (owner === undefined || !(member in owner)) return; // pages and workers differ
  const refusal = () => new DOMException(`${call} is refused`, 'SecurityError');
  const value = {
    rejects: () => Promise.reject(refusal()),
    throws: class {
      constructor() {
        throw refusal();
      }
    },
    fails: () => {
      throw refusal();
    },
    missing: undefined,
  }[how as 'rejects'];
  Object.defineProperty(owner, member, { value, configurable: true, writable: true });
}
