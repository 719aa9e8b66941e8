/** What a page of somebody's own does with the package: it defines `<rumor-question>`. */

import "@rumor-ldp/client/element.js";
