// A class of many kinds of calls that follows its object on a server, whose port is in the address of this script.

import { follow } from '../../../packages/follow/copy/follow.ts';
import { mixedClass } from '../../../packages/follow/testing/mixed-class.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { serve } from '../../../worker/start/entries/objects.ts';

const port = new URL(location.href).searchParams.get('port');

class Mixed extends mixedClass(DurableObject as never) {}
serve(
  { Mixed: Mixed as never },
  { follow: follow({ Mixed: (name) => `ws://127.0.0.1:${port}/${name}` }) },
);
