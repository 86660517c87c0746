// Started once, when a page has been standing for a while: prepares an image of Python for the next visit, then ends.

import { keepImage } from "./python.js";

const WARM = "from ironlaw.site.warm import warm; warm()";
keepImage(WARM).then(() => postMessage("kept"), (error) => postMessage(`not kept: ${error?.message ?? error}`));
