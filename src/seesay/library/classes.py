"""The names of ImageNet's 1,000 classes (Russakovsky et al. 2015), in the order of a network's outputs.

Plain words that a person would search for; a breed says what animal it is, so that "dog" finds them all.
"""

_NAMES = """
tench; goldfish; great white shark; tiger shark; hammerhead shark; electric ray; stingray; rooster; hen; ostrich;
brambling; goldfinch; house finch; junco; indigo bunting; American robin; bulbul; jay; magpie; chickadee; dipper; kite
bird; bald eagle; vulture; great grey owl; fire salamander; newt; eft newt; spotted salamander; axolotl; bullfrog;
tree frog; tailed frog; loggerhead sea turtle; leatherback sea turtle; mud turtle; terrapin; box turtle; banded gecko;
green iguana; anole lizard; whiptail lizard; agama lizard; frilled lizard; alligator lizard; Gila monster lizard;
green lizard; chameleon; Komodo dragon; Nile crocodile; American alligator; triceratops dinosaur; worm snake;
ring-necked snake; hognose snake; smooth green snake; king snake; garter snake; water snake; vine snake; night snake;
boa constrictor; rock python; Indian cobra; green mamba; sea snake; horned viper; diamondback rattlesnake; sidewinder
rattlesnake; trilobite; harvestman; scorpion; black and gold garden spider; barn spider; garden spider; black widow
spider; tarantula; wolf spider; tick; centipede; black grouse; ptarmigan; ruffed grouse; prairie chicken; peacock;
quail; partridge; African grey parrot; macaw; cockatoo; lorikeet parrot; coucal bird; bee-eater bird; hornbill;
hummingbird; jacamar bird; toucan; drake duck; merganser duck; goose; black swan; tusker elephant; echidna; platypus;
wallaby; koala; wombat; jellyfish; sea anemone; brain coral; flatworm; nematode worm; conch; snail; slug; sea slug;
chiton mollusc; chambered nautilus; Dungeness crab; rock crab; fiddler crab; king crab; lobster; spiny lobster;
crayfish; hermit crab; isopod; white stork; black stork; spoonbill; flamingo; little blue heron; great egret; bittern;
crane bird; limpkin; gallinule; coot; bustard; turnstone bird; dunlin; redshank; dowitcher; oystercatcher; pelican;
king penguin; albatross; grey whale; killer whale; dugong; sea lion; Chihuahua dog; Japanese Chin dog; Maltese dog;
Pekingese dog; Shih Tzu dog; King Charles Spaniel dog; Papillon dog; toy terrier dog; Rhodesian Ridgeback dog; Afghan
Hound dog; Basset Hound dog; Beagle dog; Bloodhound dog; Bluetick Coonhound dog; Black and Tan Coonhound dog; Treeing
Walker Coonhound dog; English foxhound dog; Redbone Coonhound dog; Borzoi dog; Irish Wolfhound dog; Italian Greyhound
dog; Whippet dog; Ibizan Hound dog; Norwegian Elkhound dog; Otterhound dog; Saluki dog; Scottish Deerhound dog;
Weimaraner dog; Staffordshire Bull Terrier dog; American Staffordshire Terrier dog; Bedlington Terrier dog; Border
Terrier dog; Kerry Blue Terrier dog; Irish Terrier dog; Norfolk Terrier dog; Norwich Terrier dog; Yorkshire Terrier
dog; Wire Fox Terrier dog; Lakeland Terrier dog; Sealyham Terrier dog; Airedale Terrier dog; Cairn Terrier dog;
Australian Terrier dog; Dandie Dinmont Terrier dog; Boston Terrier dog; Miniature Schnauzer dog; Giant Schnauzer dog;
Standard Schnauzer dog; Scottish Terrier dog; Tibetan Terrier dog; Silky Terrier dog; Wheaten Terrier dog; West
Highland White Terrier dog; Lhasa Apso dog; flat-coated Retriever dog; curly-coated Retriever dog; Golden Retriever
dog; Labrador Retriever dog; Chesapeake Bay Retriever dog; German Shorthaired Pointer dog; Vizsla dog; English Setter
dog; Irish Setter dog; Gordon Setter dog; Brittany dog; Clumber Spaniel dog; English Springer Spaniel dog; Welsh
Springer Spaniel dog; Cocker Spaniel dog; Sussex Spaniel dog; Irish Water Spaniel dog; Kuvasz dog; Schipperke dog;
Groenendael dog; Malinois dog; Briard dog; Kelpie dog; Komondor dog; Old English Sheepdog; Shetland Sheepdog; Collie
dog; Border Collie dog; Bouvier des Flandres dog; Rottweiler dog; German Shepherd dog; Dobermann dog; Miniature
Pinscher dog; Greater Swiss Mountain dog; Bernese Mountain dog; Appenzeller dog; Entlebucher dog; Boxer dog;
Bullmastiff dog; Tibetan Mastiff dog; French Bulldog; Great Dane dog; St. Bernard dog; husky sled dog; Alaskan
Malamute dog; Siberian Husky dog; Dalmatian dog; Affenpinscher dog; Basenji dog; pug dog; Leonberger dog; Newfoundland
dog; Great Pyrenees dog; Samoyed dog; Pomeranian dog; Chow Chow dog; Keeshond dog; Brussels Griffon dog; Pembroke
Corgi dog; Cardigan Corgi dog; toy poodle dog; miniature poodle dog; standard poodle dog; Mexican hairless dog; grey
wolf; white wolf; red wolf; coyote; dingo; dhole; African wild dog; hyena; red fox; kit fox; Arctic fox; grey fox;
tabby cat; tiger cat; Persian cat; Siamese cat; Egyptian cat; cougar; lynx; leopard; snow leopard; jaguar; lion;
tiger; cheetah; brown bear; black bear; polar bear; sloth bear; mongoose; meerkat; tiger beetle; ladybug; ground
beetle; longhorn beetle; leaf beetle; dung beetle; rhinoceros beetle; weevil; fly; bee; ant; grasshopper; cricket
insect; stick insect; cockroach; praying mantis; cicada; leafhopper; lacewing; dragonfly; damselfly; red admiral
butterfly; ringlet butterfly; monarch butterfly; cabbage butterfly; sulphur butterfly; lycaenid butterfly; starfish;
sea urchin; sea cucumber; cottontail rabbit; hare; Angora rabbit; hamster; porcupine; fox squirrel; marmot; beaver;
guinea pig; sorrel horse; zebra; pig; wild boar; warthog; hippopotamus; ox; water buffalo; bison; ram sheep; bighorn
sheep; ibex; hartebeest; impala; gazelle; dromedary camel; llama; weasel; mink; polecat; black-footed ferret; otter;
skunk; badger; armadillo; three-toed sloth; orangutan; gorilla; chimpanzee; gibbon; siamang; guenon monkey; patas
monkey; baboon; macaque; langur; colobus monkey; proboscis monkey; marmoset; capuchin monkey; howler monkey; titi
monkey; spider monkey; squirrel monkey; ring-tailed lemur; indri; Asian elephant; African elephant; red panda; giant
panda; snoek fish; eel; coho salmon; rock beauty fish; anemone fish; sturgeon; gar fish; lionfish; pufferfish; abacus;
abaya; academic gown; accordion; acoustic guitar; aircraft carrier; airliner; airship; altar; ambulance; amphibious
vehicle; analog clock; apiary; apron; trash can; assault rifle; backpack; bakery; balance beam; balloon; ballpoint
pen; band-aid; banjo; banister; barbell; barber chair; barbershop; barn; barometer; barrel; wheelbarrow; baseball;
basketball; bassinet; bassoon; swimming cap; bath towel; bathtub; station wagon; lighthouse; beaker; bearskin hat;
beer bottle; beer glass; bell tower; bib; tandem bicycle; bikini; ring binder; binoculars; birdhouse; boathouse;
bobsleigh; bolo tie; bonnet; bookcase; bookshop; bottle cap; bow; bow tie; brass plaque; bra; breakwater; breastplate;
broom; bucket; buckle; bulletproof vest; bullet train; butcher shop; taxi; cauldron; candle; cannon; canoe; can
opener; cardigan; car mirror; carousel; tool kit; carton; car wheel; cash machine; cassette; cassette player; castle;
catamaran; CD player; cello; mobile phone; chain; chain-link fence; chain mail; chainsaw; chest; chiffonier; chime;
china cabinet; Christmas stocking; church; cinema; cleaver; cliff dwelling; cloak; clog shoe; cocktail shaker; coffee
mug; coffeepot; coil; combination lock; computer keyboard; confectionery; container ship; convertible car; corkscrew;
cornet; cowboy boot; cowboy hat; cradle; crane machine; crash helmet; crate; crib; slow cooker; croquet ball; crutch;
cuirass; dam; desk; desktop computer; dial telephone; diaper; digital clock; digital watch; dining table; dishcloth;
dishwasher; disc brake; dock; dog sled; dome; doormat; drilling rig; drum; drumstick; dumbbell; Dutch oven; electric
fan; electric guitar; electric locomotive; entertainment center; envelope; espresso machine; face powder; feather boa;
filing cabinet; fireboat; fire truck; fire screen; flagpole; flute; folding chair; football helmet; forklift;
fountain; fountain pen; four-poster bed; freight car; French horn; frying pan; fur coat; garbage truck; gas mask; gas
pump; goblet; go-kart; golf ball; golf cart; gondola; gong; gown; grand piano; greenhouse; grille; grocery store;
guillotine; hair clip; hair spray; half-track; hammer; hamper; hair dryer; hand-held computer; handkerchief; hard
disk; harmonica; harp; harvester; hatchet; holster; home theater; honeycomb; hook; hoop skirt; horizontal bar; horse
cart; hourglass; iPod; clothes iron; jack-o'-lantern; blue jeans; jeep; t-shirt; jigsaw puzzle; rickshaw; joystick;
kimono; knee pad; knot; lab coat; ladle; lampshade; laptop computer; lawn mower; lens cap; letter opener; library;
lifeboat; lighter; limousine; ocean liner; lipstick; loafer shoe; lotion; loudspeaker; loupe; sawmill; compass;
mailbag; mailbox; one-piece swimsuit; swimsuit; manhole cover; maraca; marimba; mask; matchstick; maypole; maze;
measuring cup; medicine cabinet; megalith; microphone; microwave oven; military uniform; milk can; minibus; miniskirt;
minivan; missile; mitten; mixing bowl; mobile home; Model T car; modem; monastery; monitor; moped; mortar; mortarboard
hat; mosque; mosquito net; scooter; mountain bike; mountain tent; computer mouse; mousetrap; moving van; muzzle; nail;
neck brace; necklace; nipple; notebook computer; obelisk; oboe; ocarina; odometer; oil filter; organ; oscilloscope;
overskirt; ox cart; oxygen mask; packet; paddle; paddle wheel; padlock; paintbrush; pajamas; palace; pan flute; paper
towel; parachute; parallel bars; park bench; parking meter; passenger car; patio; pay phone; pedestal; pencil case;
pencil sharpener; perfume; Petri dish; photocopier; guitar pick; pickelhaube helmet; picket fence; pickup truck; pier;
piggy bank; pill bottle; pillow; ping-pong ball; pinwheel; pirate ship; pitcher; plane; planetarium; plastic bag;
plate rack; plow; plunger; Polaroid camera; pole; police van; poncho; pool table; soda bottle; plant pot; potter's
wheel; power drill; prayer rug; printer; prison; projectile; projector; hockey puck; punching bag; purse; quill;
quilt; race car; racket; radiator; radio; radio telescope; rain barrel; recreational vehicle; fishing reel; reflex
camera; refrigerator; remote control; restaurant; revolver; rifle; rocking chair; rotisserie; eraser; rugby ball;
ruler; running shoe; safe; safety pin; salt shaker; sandal; sarong; saxophone; scabbard; scale; school bus; schooner;
scoreboard; screen; screw; screwdriver; seat belt; sewing machine; shield; shoe store; shoji screen; shopping basket;
shopping cart; shovel; shower cap; shower curtain; ski; ski mask; sleeping bag; slide rule; sliding door; slot
machine; snorkel; snowmobile; snowplow; soap dispenser; soccer ball; sock; solar dish; sombrero; soup bowl; space bar;
space heater; space shuttle; spatula; speedboat; spider web; spindle; sports car; spotlight; stage; steam locomotive;
arch bridge; steel drum; stethoscope; stole scarf; stone wall; stopwatch; stove; strainer; tram; stretcher; couch;
stupa; submarine; suit; sundial; sunglass; sunglasses; sunscreen; suspension bridge; mop; sweatshirt; swimming trunks;
swing; switch; syringe; table lamp; tank; tape player; teapot; teddy bear; television; tennis ball; thatched roof;
theater curtain; thimble; threshing machine; throne; tile roof; toaster; tobacco shop; toilet seat; torch; totem pole;
tow truck; toy store; tractor; semi truck; tray; trench coat; tricycle; trimaran; tripod; triumphal arch; trolleybus;
trombone; tub; turnstile; typewriter keyboard; umbrella; unicycle; upright piano; vacuum cleaner; vase; vault; velvet;
vending machine; vestment; viaduct; violin; volleyball; waffle iron; wall clock; wallet; wardrobe; military aircraft;
washbasin sink; washing machine; water bottle; water jug; water tower; whiskey jug; whistle; wig; window screen;
window shade; Windsor tie; wine bottle; wing; wok; wooden spoon; wool; rail fence; shipwreck; yawl sailboat; yurt;
website; comic book; crossword; street sign; traffic light; book jacket; menu; plate; guacamole; consomme soup; hot
pot; trifle dessert; ice cream; ice lolly; French loaf bread; bagel; pretzel; cheeseburger; hot dog; mashed potato;
cabbage; broccoli; cauliflower; zucchini; spaghetti squash; acorn squash; butternut squash; cucumber; artichoke; bell
pepper; cardoon; mushroom; Granny Smith apple; strawberry; orange; lemon; fig; pineapple; banana; jackfruit; custard
apple; pomegranate; hay; carbonara pasta; chocolate sauce; dough; meat loaf; pizza; pot pie; burrito; red wine;
espresso coffee; cup; eggnog; alp mountain; bubble; cliff; coral reef; geyser; lakeside; promontory; sandbar; seashore
beach; valley; volcano; baseball player; bridegroom; scuba diver; rapeseed; daisy; lady's slipper orchid; corn; acorn;
rose hip; horse chestnut; coral fungus; agaric mushroom; gyromitra mushroom; stinkhorn mushroom; earthstar mushroom;
hen of the woods mushroom; bolete mushroom; ear of corn; toilet paper
"""

CLASS_NAMES: tuple[str, ...] = tuple(" ".join(name.split()) for name in _NAMES.split(";"))
